#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

namespace assay::localize {

/// Some of a number of things (nodes, batches, groups of nodes), by index.
using Items = std::set<std::size_t>;

/// The index of the first of several sets that shows what is looked for.
using FirstOf = std::function<std::optional<std::size_t>(const std::vector<Items>& sets)>;

/// Zeller and Hildebrandt's ddmin: parts alone, then all but a part, then smaller parts. `start` shows it; what is
/// returned shows it too, and no longer does without any one of its items.
[[nodiscard]] inline Items ddmin(Items start, const FirstOf& first) {
  std::size_t parts = 2;
  while (start.size() > 1) {
    parts = std::min(parts, start.size());
    std::vector<Items> chunks(parts), complements;
    std::size_t position = 0;
    for (const std::size_t item : start) {
      chunks[position++ * parts / start.size()].insert(item);
    }
    for (const Items& chunk : chunks) {
      Items rest;
      std::ranges::set_difference(start, chunk, std::inserter(rest, rest.end()));
      complements.push_back(std::move(rest));
    }
    if (const auto found = first(chunks)) {
      start = chunks[*found];
      parts = 2;
    } else if (const auto rest = parts > 2 ? first(complements) : std::nullopt) {
      start = complements[*rest];
      parts = std::max<std::size_t>(parts - 1, 2);
    } else if (parts < start.size()) {
      parts *= 2;
    } else {
      break;
    }
  }
  return start;
}

}  // namespace assay::localize
