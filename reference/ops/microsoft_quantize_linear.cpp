#include "reference/op.hpp"

namespace assay::reference {

const OpDef& op_quantize_linear();

/// ONNX Runtime's QuantizeLinear-1 (docs/ContribOperators.md): what ONNX has since opset 21, for 16 and 4 bits before
/// that.
const OpDef& op_microsoft_quantize_linear() {
  static const OpDef def = [] {
    OpDef microsoft = op_quantize_linear();
    microsoft.first_opset = microsoft.last_opset = 1;
    microsoft.domain = "com.microsoft";
    return microsoft;
  }();
  return def;
}

}  // namespace assay::reference
