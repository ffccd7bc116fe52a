#pragma once

#include <cstddef>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::run {

/// What one item costs by the converters of one kind.
struct Unit {
  std::size_t kind = 0, item = 0;
  double seconds = 0;
};

/// Units that one machine does in one go, all of one kind.
struct Chunk {
  std::size_t kind = 0;
  double seconds = 0;              ///< of its units
  std::vector<std::size_t> items;  ///< in the order in which they are begun: the longest first
};

/// `units` in `count` chunks, or fewer where there are fewer units: those of a kind behind one another, the longest
/// first. Every kind has chunks in proportion to its time, and they take about as long as one another: each unit, the
/// longest first, goes into the chunk that has least.
/// Errors   usage, where there are more kinds than chunks.
[[nodiscard]] core::Result<std::vector<Chunk>> make_chunks(std::vector<Unit> units, std::size_t count);

}  // namespace assay::run
