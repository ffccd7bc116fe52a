#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearGlobalAveragePool{.op = "GlobalAveragePool", .opset = 1};

}  // namespace

const OpDef& op_qlinear_global_average_pool() {
  static const OpDef def = quantized_operator<kQLinearGlobalAveragePool>("QLinearGlobalAveragePool", 5, 5);
  return def;
}

}  // namespace assay::reference
