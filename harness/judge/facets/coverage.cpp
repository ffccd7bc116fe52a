#include "harness/judge/facets/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace assay::judge {
namespace {

using model::Graph;
using model::Node;

/// Of an output's elements, those that no limit reaches: beyond this share its nodes don't count as judged.
constexpr double kLeastShare = 0.99;

/// Calls `visit` for the node and those of its subgraphs.
void visit_with_bodies(const Node& node, const std::function<void(const Node&)>& visit) {
  visit(node);
  for (const auto& [name, attribute] : node.attributes) {
    const auto* body = std::get_if<model::GraphPtr>(&attribute);
    if (body == nullptr || *body == nullptr) continue;
    for (const Node& inner : (*body)->nodes) visit_with_bodies(inner, visit);
  }
}

/// For each node, why some output that hangs on it isn't reached; empty where all are.
std::vector<std::string> missed_behind(const Graph& graph, const Coverage& coverage) {
  std::map<std::string, std::string> missed;  // by tensor
  for (const model::ValueInfo& output : graph.outputs) {
    const auto share = coverage.outputs.find(output.name);
    if (share != coverage.outputs.end() && share->second >= kLeastShare) continue;
    const auto reason = coverage.reasons.find(output.name);
    missed[output.name] = fmt::format("limits reach {:.0f} % of output \"{}\"{}{}",
                                      share == coverage.outputs.end() ? 0 : 100 * share->second, output.name,
                                      reason == coverage.reasons.end() ? "" : ": ",
                                      reason == coverage.reasons.end() ? "" : reason->second);
  }
  std::vector<std::string> by_node(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (const std::string& output : node.outputs) {
      const auto found = missed.find(output);
      if (found != missed.end() && by_node[i].empty()) by_node[i] = found->second;
    }
    if (by_node[i].empty()) continue;
    for (const std::string& input : node.inputs) missed.try_emplace(input, by_node[i]);
    for (const std::string& captured : model::captured_names(node)) missed.try_emplace(captured, by_node[i]);
  }
  return by_node;
}

}  // namespace

void cover_nodes(const LayerContext& context, Coverage& coverage) {
  const Graph& graph = context.evidence.model->graph;
  const std::vector<std::string> missed = missed_behind(graph, coverage);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool judged = coverage.locally.contains(i) || missed[i].empty();
    visit_with_bodies(graph.nodes[i], [&](const Node& node) {
      coverage.nodes.push_back({node.name, node.op_type, judged ? "L2" : "", judged ? "" : missed[i]});
    });
  }
}

std::string unjudged_reason(const LayerContext& context, const Coverage& coverage) {
  const bool ready = context.artifact != nullptr && context.evidence.calibration == nullptr;
  if (ready && context.evidence.options.calibrates()) {
    return "the ranges of activations were not judged: the data that the artifact was calibrated on are not known "
           "(--calibration)";
  }
  for (const auto& [output, share] : coverage.outputs) {
    if (share > 0) continue;
    const auto reason = coverage.reasons.find(output);
    return fmt::format("no limit against the float model reaches output \"{}\"{}{}", output,
                       reason == coverage.reasons.end() ? "" : ": ",
                       reason == coverage.reasons.end() ? "" : reason->second);
  }
  return "";
}

}  // namespace assay::judge
