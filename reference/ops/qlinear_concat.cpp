#include "reference/arguments.hpp"
#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearConcat{.op = "Concat", .opset = 4, .operands = 0, .first = 2, .output = 0};

}  // namespace

const OpDef& op_qlinear_concat() {
  static const OpDef def = quantized_operator<kQLinearConcat>("QLinearConcat", 5, kAnyNumber);
  return def;
}

}  // namespace assay::reference
