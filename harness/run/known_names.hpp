#pragma once

#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::run {

/// Every key of options.precision must name a node of `graph` (its subgraphs' too), an operator of ONNX's, or be "*".
/// An operator that no node has is right: an option set serves many models.
/// Errors   usage, naming the key and the nearest names.
[[nodiscard]] core::Status check_precision_names(const converters::Options& options, const model::Graph& graph);

/// The same where there is no model yet, so that no node can be named.
[[nodiscard]] core::Status check_precision_operators(const converters::Options& options);

/// The options without what they say of nodes that `graph` doesn't have: a part of a model under options that were
/// checked for the whole. Text that isn't a JSON object stays as it is.
[[nodiscard]] std::string options_for_part(const std::string& options_json, const model::Graph& graph);

/// The NODE of each fault "NAME@NODE" must be a node of `graph`.
/// Errors   usage, naming the fault and the nearest nodes.
[[nodiscard]] core::Status check_fault_nodes(const std::vector<std::string>& faults, const model::Graph& graph);

}  // namespace assay::run
