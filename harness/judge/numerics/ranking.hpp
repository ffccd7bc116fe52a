#pragma once

#include <cstdint>

#include "harness/core/tensor.hpp"
#include "harness/judge/enclosures/enclosure.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// What the comparison of positions with what the elements there may be shows.
struct RankingExcess {
  std::int64_t wrong = 0, elements = 0;
  std::int64_t open = 0;  ///< where any position is possible
  double margin = 0;      ///< largest distance ÷ limit; above 1 the element there can't be of that rank
  std::int64_t worst = 0;
  std::int64_t expected = 0, actual = 0;  ///< positions along the axis
  double apart = 0, limit = 0;            ///< of the elements there: by exact arithmetic, and by all roundings at most
};

/// `positions` are what `node` (ArgMax, ArgMin, TopK) says of elements within `ranked`. Positions of elements that may
/// be of that rank are right, whichever they are. Nothing where the shapes don't fit.
[[nodiscard]] RankingExcess compare_ranking(const model::Node& node, const Enclosure& ranked,
                                            const core::Tensor& positions);

}  // namespace assay::judge
