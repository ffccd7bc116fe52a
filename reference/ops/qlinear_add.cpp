#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearAdd{.op = "Add", .opset = 7, .operands = 2, .output = 6};

}  // namespace

const OpDef& op_qlinear_add() {
  static const OpDef def = quantized_operator<kQLinearAdd>("QLinearAdd", 2, 8);
  return def;
}

}  // namespace assay::reference
