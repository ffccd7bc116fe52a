#pragma once

#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/fuzz/draft.hpp"

namespace assay::fuzz {

/// Nodes that meet where a converter folds, fuses, shares or covers: drawn node by node they would come about once in
/// thousands of graphs. The one place to add another.
struct Motif {
  std::string name;
  int weight;                          ///< how often it is drawn, to the others'
  std::vector<std::string> operators;  ///< all that it needs, those without a row too
  /// Appends the nodes with what they read and gives their outputs shapes.
  /// Errors   invalid_data where nothing fits; those of Draft::settle.
  core::Status (*draw)(Draft& draft);
};

/// All motifs, by name. None has more than four nodes.
[[nodiscard]] const std::vector<Motif>& motifs();

}  // namespace assay::fuzz
