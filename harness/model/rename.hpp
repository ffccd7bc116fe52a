#pragma once

#include <map>
#include <string>

#include "harness/model/graph.hpp"

namespace assay::model {

/// Gives tensors the names that `names` maps theirs to, in subgraphs too. A node that is named by its first output is
/// so still.
void rename_tensors(Graph& graph, const std::map<std::string, std::string>& names);

}  // namespace assay::model
