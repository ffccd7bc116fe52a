#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/model/graph.hpp"

namespace assay::localize {

constexpr std::string_view kGraphInput = "graph input";

/// What a verdict knows of one node, or of a graph input, whose `op` is kGraphInput: the worst over its outputs, in dB
/// against the float64 reference.
struct NodeRow {
  std::string node, op;
  std::string precision;         ///< obtained, by the converter's own map; "" where it doesn't say
  std::optional<double> margin;  ///< |e| ÷ limit on the values that the artifact's own tensors hold before it
  /// Of the first finding that names it and is beyond its limit.
  std::optional<double> found_margin;
  std::optional<double> local_db;  ///< SQNR on those values
  std::optional<double> sqnr_db;   ///< SQNR of what is read of it, after all that came before: over all data sets
  std::optional<double> loss_db;   ///< what of it was lost here
  bool found = false;              ///< a finding names it
  std::string fused_into;          ///< the one reader with which it is judged as one; "" where it is judged itself
};

/// A row for each graph input that something is known of, and for each node, in the graph's order. `metrics` of depth
/// every_node say the most.
[[nodiscard]] std::vector<NodeRow> node_table(const model::Graph& graph, std::span<const judge::Metric> metrics,
                                              std::span<const converters::NodePrecision> precision,
                                              std::span<const judge::Finding> findings);

/// Of the node's own values; where these are within their limit, of a finding that names it.
[[nodiscard]] std::optional<double> shown_margin(const NodeRow& row);

/// Outside its own limit, or named by a finding.
[[nodiscard]] bool is_wrong(const NodeRow& row);

}  // namespace assay::localize
