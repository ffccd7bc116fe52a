#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearAveragePool{.op = "AveragePool", .opset = 11};

}  // namespace

const OpDef& op_qlinear_average_pool() {
  static const OpDef def = quantized_operator<kQLinearAveragePool>("QLinearAveragePool", 2, 5);
  return def;
}

}  // namespace assay::reference
