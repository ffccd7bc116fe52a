#include "reference/cosine_window.hpp"

namespace assay::reference {
namespace {

// ONNX BlackmanWindow-17.
Result<std::vector<Tensor>> run_blackman_window(const OpCall& call) { return cosine_window(call, {0.42, 0.5, 0.08}); }

}  // namespace

const OpDef& op_blackman_window() {
  static const OpDef def{
      .name = "BlackmanWindow", .first_opset = 17, .run = &run_blackman_window, .infer = &infer_cosine_window};
  return def;
}

}  // namespace assay::reference
