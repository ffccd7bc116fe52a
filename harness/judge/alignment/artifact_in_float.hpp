#pragma once

#include "converters/policy.hpp"
#include "harness/judge/artifact/artifact_view.hpp"

namespace assay::judge {

/// The artifact with an Identity in place of each quantizer of an activation: who reads quantized values reads the real
/// ones that they came from. Constants keep the values of their codes.
[[nodiscard]] model::Model artifact_in_float(const ArtifactView& view);

/// Names of the real tensors that the artifact quantizes and that the original doesn't have, such as those of a
/// function that the converter wrote out. Without those whose range another rule may give: the policy fixes that of
/// their operator, they may share their input's, or a Relu or Clip alone reads them.
[[nodiscard]] std::vector<std::string> own_tensors(const ArtifactView& view, const model::Graph& original,
                                                   const converters::Policy& policy);

/// How far the constants' codes may move an end of such a tensor's range, relative to the larger end: half a step is
/// 1/254 of each constant's range.
inline constexpr double kOwnRangeError = 1.0 / 32;

}  // namespace assay::judge
