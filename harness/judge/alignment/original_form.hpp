#pragma once

#include <cstddef>
#include <string_view>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// Makes `values` the constant that input `input` of `node`, a node of `graph`, reads: under its name where it is an
/// initializer that nobody else reads by `wiring`, else under a new one that ends in `suffix`.
void replace_constant(model::Graph& graph, const model::Wiring& wiring, model::Node& node, std::size_t input,
                      model::TensorPtr values, std::string_view suffix);

}  // namespace assay::judge
