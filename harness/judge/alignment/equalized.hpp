#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// A converter may multiply what a product reads by a constant for each channel, and divide the product's weight by the
/// same (SmoothQuant): that changes nothing but where quantization rounds. `original` in that form, where `artifact`
/// has it: with a Mul under the artifact's own name in front of the products that read it there, and their weights
/// divided. Whether the artifact's weights are divided like that too, the audit finds as for any others.
///
/// Returns  null where the artifact has no such Mul.
[[nodiscard]] std::shared_ptr<const OriginalForm> equalized(const model::Model& original,
                                                            const std::shared_ptr<const model::Model>& artifact);

/// The other way round: a Mul by a constant in front of products may be folded into their weights, so that they read
/// what the Mul read. `original` without the Mul, and with the weights multiplied, where `artifact` has none and its
/// products read the Mul's input. Whether its weights are multiplied, the audit finds.
///
/// Returns  null where no Mul went that way.
[[nodiscard]] std::shared_ptr<const OriginalForm> absorbed(const model::Model& original,
                                                           const std::shared_ptr<const model::Model>& artifact);

}  // namespace assay::judge
