#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearWhere{.op = "Where", .opset = 9, .operands = 2, .first = 1, .plain = 1, .output = 7};

}  // namespace

const OpDef& op_qlinear_where() {
  static const OpDef def = quantized_operator<kQLinearWhere>("QLinearWhere", 9, 9);
  return def;
}

}  // namespace assay::reference
