#pragma once

#include <string>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// Fills in, for every node of the original, which layer judged it or why none did. A node counts as judged where a
/// limit excludes what is wrong on the values around it (Coverage::locally), or where limits reach every output that
/// hangs on it; a node that no output hangs on can't show, and counts too. Nodes of subgraphs
/// count as the node that holds them does.
void cover_nodes(const LayerContext& context, Coverage& coverage);

/// What keeps a verdict without a red finding from being a pass: an output that no limit reaches, or ranges that nobody
/// could judge. Empty where everything was.
[[nodiscard]] std::string unjudged_reason(const LayerContext& context, const Coverage& coverage);

}  // namespace assay::judge
