#include "harness/judge/evidence/ranges.hpp"

#include <algorithm>

namespace assay::judge {

bool any_free_scale(const RangeTable& ranges) {
  constexpr double kLeast = 255 * 0x1p-126;
  return std::ranges::any_of(ranges, [](const auto& entry) {
    const double span = std::max(entry.second.high, 0.0) - std::min(entry.second.low, 0.0);
    return span > 0 && span < kLeast;
  });
}

}  // namespace assay::judge
