#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// A BatchNormalization that stays one may come out with another mean, variance or epsilon, 0 and 1 for instance, and
/// what they were in its gamma and beta: γ·(x − μ)/√(σ² + ε) + β; or as a Conv with one weight for each channel.
/// `original` with the artifact's mean, variance and epsilon, and the gamma and beta that they ask for, or as that
/// Conv. Whether the artifact has these, the audit finds as for any other constants.
///
/// Returns  null where no BatchNormalization is in another form, or its gamma and beta are nothing like what the
///          artifact's mean and variance ask for.
[[nodiscard]] std::shared_ptr<const OriginalForm> renormalized(const model::Model& original,
                                                               const std::shared_ptr<const model::Model>& artifact);

}  // namespace assay::judge
