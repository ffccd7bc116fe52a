#include "harness/localize/node_table.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace assay::localize {
namespace {

void take_least(std::optional<double>& kept, double value) { kept = std::min(kept.value_or(value), value); }
void take_most(std::optional<double>& kept, double value) { kept = std::max(kept.value_or(value), value); }

/// A node that nobody looked into, although somebody did into the only one that reads it, is one with that one in the
/// artifact. `rows` has the nodes behind its first `inputs` rows.
void note_fused(const model::Graph& graph, std::vector<NodeRow>& rows, std::size_t inputs) {
  std::map<std::string, std::vector<std::size_t>> readers;
  std::set<std::string> outputs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : graph.nodes[i].inputs) readers[input].push_back(inputs + i);
  }
  for (const model::ValueInfo& output : graph.outputs) outputs.insert(output.name);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    NodeRow& row = rows[inputs + i];
    const model::Node& node = graph.nodes[i];
    if (row.margin || row.local_db || node.outputs.size() != 1 || outputs.contains(node.outputs.front())) continue;
    const auto& read_by = readers[node.outputs.front()];
    if (read_by.size() != 1) continue;
    const NodeRow& reader = rows[read_by.front()];
    if (!reader.fused_into.empty()) row.fused_into = reader.fused_into;
    if (reader.local_db) row.fused_into = reader.node;
  }
}

}  // namespace

std::optional<double> shown_margin(const NodeRow& row) {
  return row.margin.value_or(0) > 1 || !row.found_margin ? row.margin : row.found_margin;
}

bool is_wrong(const NodeRow& row) { return row.found || row.margin.value_or(0) > 1; }

std::vector<NodeRow> node_table(const model::Graph& graph, std::span<const judge::Metric> metrics,
                                std::span<const converters::NodePrecision> precision,
                                std::span<const judge::Finding> findings) {
  std::vector<NodeRow> rows;
  std::map<std::string, std::size_t> by_output, by_name;
  for (const model::ValueInfo& input : graph.inputs) {
    if (graph.initializer(input.name) != nullptr) continue;
    by_output.emplace(input.name, rows.size());
    rows.push_back({input.name, std::string(kGraphInput), "", {}, {}, {}, {}, {}, false, ""});
  }
  const std::size_t inputs = rows.size();
  for (const model::Node& node : graph.nodes) {
    by_name.emplace(node.name, rows.size());
    for (const std::string& output : node.outputs) {
      by_output.emplace(output, rows.size());
    }
    rows.push_back({node.name, node.op_type, "", {}, {}, {}, {}, {}, false, ""});
  }
  std::vector<std::optional<double>> whole(rows.size());  // over all data sets, where that is known
  for (const judge::Metric& metric : metrics) {
    const auto found = by_output.find(metric.tensor);
    if (found == by_output.end()) {
      continue;
    }
    NodeRow& row = rows[found->second];
    if (metric.name == "local_margin") {
      take_most(row.margin, metric.value);
    } else if (metric.name == "local_sqnr_db") {
      take_least(row.local_db, metric.value);
    } else if (metric.name == "sqnr_db") {
      take_least(metric.data_set.empty() ? whole[found->second] : row.sqnr_db, metric.value);
    } else if (metric.name == "sqnr_loss_db") {
      take_most(row.loss_db, metric.value);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (whole[i]) rows[i].sqnr_db = whole[i];
  }
  for (const converters::NodePrecision& each : precision) {
    if (const auto found = by_name.find(each.node); found != by_name.end()) {
      rows[found->second].precision = each.got;
    }
  }
  // Where a node is known to be outside its own limit, numbers that are off at nodes that nobody looked into follow.
  const bool explained = std::ranges::any_of(rows, is_wrong);
  for (const judge::Finding& finding : findings) {
    const auto named = by_name.find(finding.node);
    const auto made = by_output.find(finding.tensor);
    if (finding.amber || (named == by_name.end() && made == by_output.end())) {
      continue;
    }
    NodeRow& row = rows[named != by_name.end() ? named->second : made->second];
    const bool follows = !finding.follows.empty() && std::ranges::any_of(findings, [&](const judge::Finding& other) {
      return other.tensor == finding.follows && !other.amber;
    });
    const bool at_fault = !follows && (finding.facet != judge::Facet::numerics || !explained);
    row.found = row.found || at_fault;
    if (at_fault && !row.found_margin && finding.margin > 1) row.found_margin = finding.margin;
  }
  note_fused(graph, rows, inputs);
  std::erase_if(rows,
                [&](const NodeRow& row) { return row.op == kGraphInput && !row.margin && !row.sqnr_db && !row.found; });
  return rows;
}

}  // namespace assay::localize
