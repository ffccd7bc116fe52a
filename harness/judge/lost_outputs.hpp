#pragma once

#include <optional>
#include <string>

#include "harness/judge/fake_quantization.hpp"
#include "harness/judge/quantization_plan.hpp"

namespace assay::judge {

/// An output of which next to nothing is right, told apart from noise.
struct LostOutput {
  double predicted_db = 0;   ///< SQNR that the stated policy predicts
  double worst_draw_db = 0;  ///< the same with every rounded value moved by up to a step before, the worst draw
  double margin = 0;         ///< what is lost against that, in units of the 15 dB that are granted
};

/// Whether an output of an execution is lost. For networks through which no bound reaches, as interval arithmetic on a
/// division by what may be 0 has none: the noise, without the tenth of the elements that are off most, has to be more
/// than a tenth of the signal and more than 15 dB above what any of the draws makes. The draws see what a
/// comparison, an index or a pole makes of a step of rounding, which is no loss of the converter's.
///
/// expected, actual   of the output, alike in shape, real; no infinity in `expected`, no NaN in either
/// inputs             of the execution, as graph inputs are fed
/// Null where nobody knows what is clipped (neither an artifact nor scales are told, and the ranges aren't those of
/// all data), where the output isn't lost, and beyond 2²⁰ elements.
[[nodiscard]] std::optional<LostOutput> find_lost_output(const LayerContext& context, const QuantizationPlan& plan,
                                                         const std::string& tensor, const core::Tensor& expected,
                                                         const core::Tensor& actual, const core::TensorMap& inputs);

}  // namespace assay::judge
