#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

// ONNX If-16: the branch that the condition names; branches see the names around them and have no inputs.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const auto boolean = require_boolean(call, 0); !boolean) return boolean.error();
  const auto condition = integer_scalar(call, 0);
  if (!condition) return condition.error();
  const auto branch = call.node.graph(*condition != 0 ? "then_branch" : "else_branch");
  if (!branch || call.run_subgraph == nullptr) return op_error("a branch is missing");
  return (*call.run_subgraph)(*branch, {});
}

}  // namespace

const OpDef& op_if() {
  static const OpDef def{.name = "If", .run = &run};
  return def;
}

}  // namespace assay::reference
