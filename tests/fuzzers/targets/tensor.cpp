#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(tensor, {
  const auto tensor = assay::model::load_tensor_bytes(input, "/nowhere/input_0.pb");
  if (tensor) (void)assay::model::serialize_tensor(*tensor);
})
