#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(npy, {
  static const assay::fuzzers::Scratch scratch;
  static const auto model =
      assay::model::parse_graph_text("g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }", {{"", 13}});
  (void)assay::data::load_user_data(scratch.write("data.npy", input), *model, assay::data::NonFinite::kept);
})
