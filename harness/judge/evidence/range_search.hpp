#pragma once

#include <vector>

namespace assay::judge {

/// The scales at which a search over 4096 bins of the magnitudes may end (policy `histogram` "magnitudes"): k·amax/4096
/// for k = 1 … 32, with the least Kullback–Leibler divergence between the histogram cut off at the k-th multiple of 128
/// bins and the same histogram on 128 levels. Its first bins, next to zero, don't count.
///
/// Each value may be off by `slack` where the converter measures it: what was least in some of several draws may be
/// the converter's. Empty where nothing but zero was seen. Source: ESP-PPQ, TorchHistObserver.
[[nodiscard]] std::vector<double> searched_scales(const std::vector<double>& sorted_values, double slack);

}  // namespace assay::judge
