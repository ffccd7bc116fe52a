#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearSigmoid{.op = "Sigmoid", .opset = 6};

}  // namespace

const OpDef& op_qlinear_sigmoid() {
  static const OpDef def = quantized_operator<kQLinearSigmoid>("QLinearSigmoid", 2, 5);
  return def;
}

}  // namespace assay::reference
