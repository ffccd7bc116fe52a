#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(npz, {
  static const assay::fuzzers::Scratch scratch;
  static const auto model = assay::model::parse_graph_text(
      "g (float[N,3] x, int64[2] i) => (float[N,3] y) { c = Cast <to=1> (i) s = ReduceSum (c) y = Mul (x, s) }",
      {{"", 13}});
  (void)assay::data::load_user_data(scratch.write("data.npz", input), *model, assay::data::NonFinite::kept);
})
