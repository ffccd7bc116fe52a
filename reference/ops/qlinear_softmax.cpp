#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearSoftmax{.op = "Softmax", .opset = 13};

}  // namespace

const OpDef& op_qlinear_softmax() {
  static const OpDef def = quantized_operator<kQLinearSoftmax>("QLinearSoftmax", 2, 5);
  return def;
}

}  // namespace assay::reference
