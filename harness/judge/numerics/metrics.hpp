#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// SQNR, cosine and largest error of every output and every traced tensor.
[[nodiscard]] std::vector<Metric> measure(const LayerContext& context);

}  // namespace assay::judge
