#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(tensor, {
  static const assay::fuzzers::Scratch scratch;
  const auto tensor = assay::model::load_tensor(scratch.write("input_0.pb", input));
  if (tensor) (void)assay::model::save_tensor(*tensor, scratch.folder() / "again.pb");
})
