#include "reference/arg_best.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX ArgMax-13.
Result<std::vector<Tensor>> run_arg_max(const OpCall& call) {
  return arg_best(call, [](auto a, auto b) { return a > b; });
}

}  // namespace

const OpDef& op_arg_max() {
  static const OpDef def{.name = "ArgMax", .run = &run_arg_max, .infer = &infer_arg_best};
  return def;
}

}  // namespace assay::reference
