#include "harness/run/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace assay::run {
namespace {

struct KindOfUnits {
  std::vector<Unit> units;  ///< longest first
  double seconds = 0;
  std::size_t chunks = 1;

  [[nodiscard]] double seconds_of_a_chunk() const { return seconds / static_cast<double>(chunks); }
  [[nodiscard]] bool can_be_split() const { return chunks < units.size(); }
};

/// Gives chunks to the kind whose chunks are the longest, until all are given or none can take more.
void share_out(std::map<std::size_t, KindOfUnits>& kinds, std::size_t count) {
  for (std::size_t given = kinds.size(); given < count; ++given) {
    KindOfUnits* longest = nullptr;
    for (auto& [number, kind] : kinds) {
      if (!kind.can_be_split()) continue;
      if (longest == nullptr || kind.seconds_of_a_chunk() > longest->seconds_of_a_chunk()) longest = &kind;
    }
    if (longest == nullptr) return;
    ++longest->chunks;
  }
}

std::vector<Chunk> chunks_of(std::size_t number, const KindOfUnits& kind) {
  std::vector<Chunk> chunks(kind.chunks, Chunk{number, 0, {}});
  // Least time first; of equal ones the one with fewer items, so that none stays empty where nothing takes time.
  using Filled = std::tuple<double, std::size_t, std::size_t>;
  std::priority_queue<Filled, std::vector<Filled>, std::greater<>> least;
  for (std::size_t index = 0; index < chunks.size(); ++index) least.emplace(0.0, 0, index);
  for (const Unit& unit : kind.units) {
    const auto [seconds, items, index] = least.top();
    least.pop();
    chunks[index].items.push_back(unit.item);
    chunks[index].seconds += unit.seconds;
    least.emplace(chunks[index].seconds, items + 1, index);
  }
  std::ranges::stable_sort(chunks, std::greater<>(), &Chunk::seconds);
  return chunks;
}

}  // namespace

core::Result<std::vector<Chunk>> make_chunks(std::vector<Unit> units, std::size_t count) {
  std::map<std::size_t, KindOfUnits> kinds;
  std::ranges::stable_sort(units, std::greater<>(), &Unit::seconds);
  for (Unit& unit : units) {
    KindOfUnits& kind = kinds[unit.kind];
    kind.seconds += unit.seconds;
    kind.units.push_back(unit);
  }
  if (kinds.size() > count) {
    return core::usage_error(
        fmt::format("--chunks {}: the converters need {} kinds of machines (with a GPU or without, or a limit of "
                    "workers of their own), each of which has chunks of its own; ask for at least {}",
                    count, kinds.size(), kinds.size()));
  }
  share_out(kinds, count);
  std::vector<Chunk> chunks;
  for (const auto& [number, kind] : kinds) {
    std::ranges::move(chunks_of(number, kind), std::back_inserter(chunks));
  }
  return chunks;
}

}  // namespace assay::run
