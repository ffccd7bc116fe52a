#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearLeakyRelu{.op = "LeakyRelu", .opset = 6};

}  // namespace

const OpDef& op_qlinear_leaky_relu() {
  static const OpDef def = quantized_operator<kQLinearLeakyRelu>("QLinearLeakyRelu", 2, 5);
  return def;
}

}  // namespace assay::reference
