#include "harness/localize/node_table.hpp"

#include <algorithm>
#include <map>

namespace assay::localize {
namespace {

void take_least(std::optional<double>& kept, double value) { kept = std::min(kept.value_or(value), value); }
void take_most(std::optional<double>& kept, double value) { kept = std::max(kept.value_or(value), value); }

}  // namespace

bool is_wrong(const NodeRow& row) { return row.found || row.margin.value_or(0) > 1; }

std::vector<NodeRow> node_table(const model::Graph& graph, std::span<const judge::Metric> metrics,
                                std::span<const converters::NodePrecision> precision,
                                std::span<const judge::Finding> findings) {
  std::vector<NodeRow> rows;
  std::map<std::string, std::size_t> by_output, by_name;
  for (const model::Node& node : graph.nodes) {
    by_name.emplace(node.name, rows.size());
    for (const std::string& output : node.outputs) {
      by_output.emplace(output, rows.size());
    }
    rows.push_back({node.name, node.op_type, "", {}, {}, {}, {}, false});
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
    row.found = row.found || finding.facet != judge::Facet::numerics || !explained;
  }
  return rows;
}

}  // namespace assay::localize
