#include <fmt/format.h>

#include <array>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX If-16: the branch that the condition names; branches see the names around them and have no inputs.
Result<std::vector<Tensor>> run_if(const OpCall& call) {
  if (const auto boolean = require_boolean(call, 0); !boolean) return boolean.error();
  const auto condition = integer_scalar(call, 0);
  if (!condition) return condition.error();
  const auto branch = call.node.graph(*condition != 0 ? "then_branch" : "else_branch");
  if (!branch || call.run_subgraph == nullptr) return op_error("a branch is missing");
  return (*call.run_subgraph)(*branch, {});
}

Result<Facts> infer_if(const ShapeCall& call) {
  constexpr std::array kBoolean{DType::boolean};
  if (const auto boolean = require_type(call, 0, kBoolean); !boolean) return boolean.error();
  const auto condition = scalar_argument(call, 0);
  if (!condition) return condition.error();
  const auto then_branch = call.node.graph("then_branch");
  const auto else_branch = call.node.graph("else_branch");
  if (!then_branch || !else_branch || call.infer_subgraph == nullptr) return op_error("a branch is missing");
  const auto branch_facts = [&](const model::Graph& branch) { return (*call.infer_subgraph)(branch, {}); };
  if (*condition) return branch_facts(**condition != 0.0 ? *then_branch : *else_branch);
  auto then_facts = branch_facts(*then_branch);
  auto else_facts = branch_facts(*else_branch);
  // A branch that can't run may stand there for inputs of another rank: who gets a result, gets it from the other.
  if (!else_facts) return then_facts;
  if (!then_facts) return else_facts;
  if (then_facts->size() != else_facts->size()) {
    return op_error(fmt::format("the branches have {} and {} outputs", then_facts->size(), else_facts->size()));
  }
  Facts outputs;
  for (std::size_t i = 0; i < then_facts->size(); ++i) {
    const TensorFacts& first = (*then_facts)[i];
    const TensorFacts& second = (*else_facts)[i];
    if (first.type != second.type && first.type != DType::undefined && second.type != DType::undefined) {
      return op_error(
          fmt::format("output {} is {} in one branch and {} in the other", i, facts_text(first), facts_text(second)));
    }
    outputs.push_back(common(first, second));
  }
  return outputs;
}

}  // namespace

const OpDef& op_if() {
  static const OpDef def{.name = "If", .run = &run_if, .infer = &infer_if};
  return def;
}

}  // namespace assay::reference
