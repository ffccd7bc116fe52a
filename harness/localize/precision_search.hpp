#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/localize/criterion.hpp"
#include "harness/localize/ddmin.hpp"

namespace assay::localize {

/// Nodes that a converter makes one operation of, so that they are kept in float together or not at all: a node with
/// the normalizations and activations that alone read it. By index, each node in one group, in the graph's order.
[[nodiscard]] std::vector<Items> fusion_groups(const model::Graph& graph);

/// What a search for the nodes that must stay in float found.
struct PrecisionSearch {
  bool needed = false;             ///< with everything in INT8 the verdict is red, or the SQNR too low
  bool possible = false;           ///< with everything in float it is not
  /// Where it isn't possible: the nodes that were asked for in float and run in INT8 all the same.
  std::vector<std::string> ignored;
  std::vector<std::string> nodes;  ///< to be kept in float
  bool minimal = false;            ///< without any one group of them it does not do
  std::size_t conversions = 0;
  bool reused_cache = false;  ///< calibrated once, every other conversion was rebuilt from its cache
  judge::Judgement before, after;  ///< of all in INT8; of `nodes` in float, or of all where that isn't possible
};

/// Finds a smallest set of nodes to keep in float so that the verdict is not red, and the outputs' SQNR at least
/// `sqnr_db` where that is asked for: the nodes with the largest local margins and losses first, as many as it takes,
/// then delta debugging over their fusion groups, with no more than `most_conversions` in all. A converter that doesn't
/// support what is asked leaves `before` unsupported.
[[nodiscard]] PrecisionSearch search_precision(const Candidate& whole, const Judge& judge,
                                               std::optional<double> sqnr_db, std::size_t most_conversions,
                                               const std::function<void(const std::string&)>& on_progress = {});

}  // namespace assay::localize
