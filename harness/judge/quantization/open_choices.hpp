#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"
#include "harness/judge/quantization/supposed.hpp"

namespace assay::judge {

/// What a conversion without an artifact leaves open, and a member of Supposed each stands for; nothing supposed first.
/// Every combination of what a converter does alike everywhere: each is a way of its own (ways.hpp). `plain` is the
/// prediction with nothing supposed.
[[nodiscard]] std::vector<Supposed> combined_choices(const LayerContext& context, const QuantizationPlan& plan,
                                                     const FakeQuantization& plain);

/// `way` with one thing more, for what is seldom and shows by itself. `rounds_twice`: the artifact's integers say so.
[[nodiscard]] std::vector<Supposed> single_choices(const Supposed& way, const LayerContext& context, bool rounds_twice);

/// Every combination of what changes how much noise roundings make, the noisiest where that is known.
[[nodiscard]] std::vector<Supposed> choices_of_noise(const Evidence& evidence);

}  // namespace assay::judge
