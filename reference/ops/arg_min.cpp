#include "reference/arg_best.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX ArgMin-13.
Result<std::vector<Tensor>> run_arg_min(const OpCall& call) {
  return arg_best(call, [](auto a, auto b) { return a < b; });
}

}  // namespace

const OpDef& op_arg_min() {
  static const OpDef def{.name = "ArgMin", .run = &run_arg_min, .infer = &infer_arg_best};
  return def;
}

}  // namespace assay::reference
