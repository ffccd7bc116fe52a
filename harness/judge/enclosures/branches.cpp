#include "harness/judge/enclosures/branches.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Result;
using model::Node;

/// One branch on its way: its own tensors, and those around it.
class Branch {
 public:
  Branch(const BranchScope& around, const Arithmetic& arithmetic) : around_(around), arithmetic_(arithmetic) {}

  Result<std::vector<Enclosure>> run(const model::Graph& graph) {
    for (const auto& [name, tensor] : graph.initializers) values_.emplace(name, exact_enclosure(tensor));
    for (const Node& node : graph.nodes) {
      Result<std::vector<Enclosure>> outputs = enclose(node);
      if (!outputs) {  // what needs it will be missing; what doesn't goes on
        if (!problem_) problem_ = outputs.error();
        continue;
      }
      for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
        values_[node.outputs[i]] = std::move((*outputs)[i]);
      }
    }
    std::vector<Enclosure> results;
    for (const model::ValueInfo& output : graph.outputs) {
      const Enclosure* value = find(output.name);
      if (value == nullptr) return problem_.value_or(core::Error{});
      results.push_back(*value);
    }
    return results;
  }

 private:
  [[nodiscard]] const Enclosure* find(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? around_.find(name) : &found->second;
  }

  [[nodiscard]] Result<std::vector<Enclosure>> enclose(const Node& node) const {
    if (is_branching(node)) {
      const BranchScope inside{[this](const std::string& name) { return find(name); }, around_.opset};
      return enclose_branch(node, inside, arithmetic_);
    }
    if (model::is_quantizer(node)) return rules::no_bound(node, "quantizers inside a branch are not followed");
    if (!model::captured_names(node).empty()) return rules::no_bound(node, "its subgraphs are not followed");
    std::vector<const Enclosure*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : find(name));
      if (!name.empty() && inputs.back() == nullptr) return core::Error{};  // what stopped before has said why
    }
    const std::int64_t opset = around_.opset(node.domain);
    // A constant is stored as it is, so nothing rounds it.
    const Arithmetic arithmetic = traits_of(node).constant ? Arithmetic{} : arithmetic_;
    Result<std::vector<Enclosure>> outputs = enclose_node(node, opset, inputs, arithmetic);
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i) {
      if (half_unit((*outputs)[i].centre->type()) != 0)
        return rules::no_bound(node, "16 bits inside a branch are not followed");
    }
    return outputs;
  }

  const BranchScope& around_;
  const Arithmetic& arithmetic_;
  std::unordered_map<std::string, Enclosure> values_;
  std::optional<core::Error> problem_;
};

}  // namespace

bool is_branching(const Node& node) { return node.domain.empty() && node.op_type == "If"; }

bool same_branches(const Node& one, const Node& other) {
  const auto same_graph = [](const model::Graph& a, const model::Graph& b) {
    const auto same_node = [](const Node& x, const Node& y) {
      return model::operator_name(x) == model::operator_name(y) && x.inputs.size() == y.inputs.size() &&
             x.outputs == y.outputs && same_branches(x, y);
    };
    const auto same_constant = [](const auto& x, const auto& y) {
      return x.first == y.first && *x.second == *y.second;
    };
    return std::ranges::equal(a.nodes, b.nodes, same_node) &&
           std::ranges::equal(a.initializers, b.initializers, same_constant);
  };
  const auto same_attribute = [&](const auto& x, const auto& y) {
    if (x.first != y.first || x.second.index() != y.second.index()) return false;
    const auto* a = std::get_if<model::GraphPtr>(&x.second);
    const auto* b = std::get_if<model::GraphPtr>(&y.second);
    if (a != nullptr) return *a != nullptr && *b != nullptr && same_graph(**a, **b);
    const auto* t = std::get_if<core::TensorPtr>(&x.second);
    const auto* u = std::get_if<core::TensorPtr>(&y.second);
    if (t != nullptr) return *t != nullptr && *u != nullptr && **t == **u;
    return x.second == y.second;
  };
  return std::ranges::equal(one.attributes, other.attributes, same_attribute);
}

Result<std::vector<Enclosure>> enclose_branch(const Node& node, const BranchScope& around,
                                              const Arithmetic& arithmetic) {
  const Enclosure* condition = node.inputs.empty() ? nullptr : around.find(node.inputs[0]);
  if (condition == nullptr) return core::Error{};
  const bool certain =
      condition->is_exact() && condition->centre->type() == core::DType::boolean && condition->centre->size() == 1;
  if (!certain) return rules::no_bound(node, "its condition is uncertain");
  const auto graph = node.graph(condition->centre->as_real(0) != 0 ? "then_branch" : "else_branch");
  if (!graph) return rules::no_bound(node, "a branch is missing");
  return Branch(around, arithmetic).run(*graph);
}

}  // namespace assay::judge
