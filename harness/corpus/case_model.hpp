#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "harness/corpus/fields.hpp"
#include "harness/model/graph.hpp"

namespace assay::corpus {

/// The checked model of a case's keys graph, opset, initializers, unused, names and node_names; `seed` is the case's.
/// Errors   invalid_case, naming the key.
[[nodiscard]] core::Result<model::Model> read_model(const Fields& fields, std::uint64_t seed);

/// Gives tensors and nodes the names that the keys names and node_names ask for. What is wrong stands in
/// `fields.problem()`.
void apply_names(const Fields& fields, model::Graph& graph);

/// Every tensor of the outermost graph: inputs, initializers and nodes' outputs.
[[nodiscard]] std::set<std::string> tensor_names(const model::Graph& graph);

}  // namespace assay::corpus
