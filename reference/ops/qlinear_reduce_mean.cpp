#include "reference/quantized_form.hpp"

namespace assay::reference {
namespace {

constexpr QuantizedForm kQLinearReduceMean{.op = "ReduceMean", .opset = 13, .last_opset = 17};

}  // namespace

const OpDef& op_qlinear_reduce_mean() {
  static const OpDef def = quantized_operator<kQLinearReduceMean>("QLinearReduceMean", 2, 5);
  return def;
}

}  // namespace assay::reference
