#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "harness/localize/node_table.hpp"

namespace assay::report {

/// `--json`'s object for one node.
[[nodiscard]] nlohmann::ordered_json node_json(const localize::NodeRow& row);

/// The nodes that are wrong, in the graph's order, as a table.
[[nodiscard]] std::string wrong_nodes_text(std::span<const localize::NodeRow> rows);

/// What is lost where: all nodes of a small graph, else the wrong ones and those with the largest losses, in the
/// graph's order. Empty where nothing is known of any node.
[[nodiscard]] std::string node_table_text(std::span<const localize::NodeRow> rows);

}  // namespace assay::report
