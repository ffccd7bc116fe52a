#include "reference/cosine_window.hpp"

namespace assay::reference {
namespace {

// ONNX HammingWindow-17.
Result<std::vector<Tensor>> run_hamming_window(const OpCall& call) {
  return cosine_window(call, {25.0 / 46.0, 21.0 / 46.0, 0.0});
}

}  // namespace

const OpDef& op_hamming_window() {
  static const OpDef def{
      .name = "HammingWindow", .first_opset = 17, .run = &run_hamming_window, .infer = &infer_cosine_window};
  return def;
}

}  // namespace assay::reference
