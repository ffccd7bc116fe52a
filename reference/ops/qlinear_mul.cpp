#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearMul{.op = "Mul", .opset = 7, .operands = 2, .output = 6};

}  // namespace

const OpDef& op_qlinear_mul() {
  static const OpDef def = quantized_operator<kQLinearMul>("QLinearMul", 2, 8);
  return def;
}

}  // namespace assay::reference
