#include "harness/bundles/bundle.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(bundle_json, {
  static const assay::fuzzers::Scratch scratch = [] {
    assay::fuzzers::Scratch made;
    const auto model =
        assay::model::parse_graph_text("g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }", {{"", 13}});
    (void)assay::model::save_model(*model, made.folder() / "model.onnx");
    return made;
  }();
  (void)scratch.write("bundle.json", input);
  (void)assay::bundles::read_bundle(scratch.folder());
})
