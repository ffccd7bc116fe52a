#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Not-1.
Result<std::vector<Tensor>> run_not(const OpCall& call) {
  if (const auto boolean = require_boolean(call, 0); !boolean) return boolean.error();
  return map_numbers(call, [](auto x) { return x == 0 ? decltype(x){1} : decltype(x){0}; });
}

}  // namespace

const OpDef& op_not() {
  static const OpDef def{.name = "Not", .run = &run_not, .infer = &infer_same_boolean, .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
