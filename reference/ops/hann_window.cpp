#include "reference/cosine_window.hpp"

namespace assay::reference {
namespace {

// ONNX HannWindow-17.
Result<std::vector<Tensor>> run_hann_window(const OpCall& call) { return cosine_window(call, {0.5, 0.5, 0.0}); }

}  // namespace

const OpDef& op_hann_window() {
  static const OpDef def{
      .name = "HannWindow", .first_opset = 17, .run = &run_hann_window, .infer = &infer_cosine_window};
  return def;
}

}  // namespace assay::reference
