#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/ranges.hpp"

namespace assay::judge {

/// The harness's own per-tensor parameters of every real activation under the options and the stated policy: over the
/// whole calibration data, and at the ends that the method leaves open (LayerContext). Where the model gives parameters
/// itself, those are the ones that a correct converter has; the coarsest of several. Reads what `context` has of the
/// alignment and the artifact.
[[nodiscard]] std::pair<std::map<std::string, core::QuantParams>, std::optional<OpenRanges>> assume_params(
    const LayerContext& context, const CalibrationRanges& calibration);

}  // namespace assay::judge
