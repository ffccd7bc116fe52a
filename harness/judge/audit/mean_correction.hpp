#pragma once

#include <optional>
#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// What is added to a bias under the policy "mean_corrected".
struct MeanCorrection {
  std::vector<double> shift;  ///< for each output channel
  double slack = 0;           ///< float32 error of the means that it is the difference of
};

/// E[y] of the float model's result less the mean of what the artifact's weight makes of an input that has the mean
/// E[x] of its channel everywhere, for each output channel: NNCF's fast bias correction. The means are those of the
/// first kMeanBatches calibration batches.
///
/// `weight`  which input of the artifact's product the weight is
/// Returns   nothing where the node isn't such a product or the means are unknown.
[[nodiscard]] std::optional<MeanCorrection> mean_correction(const LayerContext& context, const ArtifactNode& product,
                                                            std::size_t weight);

}  // namespace assay::judge
