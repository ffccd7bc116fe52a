#include "harness/report/follows.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

namespace assay::report {
namespace {

using results::FindingRow;

/// Where a finding's facet stands among those that follow from the ones before: parameters, constants, values.
int level(const std::string& facet) {
  constexpr std::array<std::string_view, 4> kParameters{"precision", "scale", "zero_point", "axis"};
  constexpr std::array<std::string_view, 2> kConstants{"weight", "bias"};
  constexpr std::array<std::string_view, 3> kValues{"integers", "numerics", "nan"};
  const auto is_of = [&](const auto& words) { return std::ranges::find(words, facet) != words.end(); };
  return is_of(kParameters) ? 1 : is_of(kConstants) ? 2 : is_of(kValues) ? 3 : 0;
}

bool is_at(const model::Node& node, const FindingRow& finding) {
  if (!finding.node.empty()) return node.name == finding.node;
  return std::ranges::find(node.outputs, finding.tensor) != node.outputs.end();
}

/// What is computed with the finding's node or tensor, in the graph's order: tensors.
std::set<std::string> behind(const model::Graph& graph, const FindingRow& finding) {
  std::set<std::string> reached{finding.tensor};
  for (const model::Node& node : graph.nodes) {
    const bool reads = std::ranges::any_of(
        node.inputs, [&](const std::string& input) { return !input.empty() && reached.contains(input); });
    if (reads || is_at(node, finding)) reached.insert(node.outputs.begin(), node.outputs.end());
  }
  reached.erase("");
  return reached;
}

}  // namespace

bool may_follow(const model::Graph& graph, const FindingRow& headline, const FindingRow& other) {
  const int cause = level(headline.facet), effect = level(other.facet);
  if (cause == 0 || effect < cause || (effect == cause && effect != 3)) return false;
  const std::set<std::string> reached = behind(graph, headline);
  return std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
    return is_at(node, other) &&
           std::ranges::any_of(node.outputs, [&](const std::string& output) { return reached.contains(output); });
  });
}

}  // namespace assay::report
