#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "converters/converter.hpp"
#include "harness/judge/evidence/evidence.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// The options that a ready artifact was evidently made with under `policy`: activation type, symmetry, granularity.
/// `fallback` where the artifact does not show it.
[[nodiscard]] converters::Options evident_options(const std::shared_ptr<const model::Model>& artifact,
                                                  const model::Model& original, const converters::Options& fallback,
                                                  const converters::Policy& policy);

/// The forms of the weights of products, by the original's node, where they don't all have one: 4 bits in blocks beside
/// 8 bits by channel, several lengths of blocks. Also of blocks beside quantized activations, which no option asks for.
/// Empty where the options say it all.
[[nodiscard]] std::map<std::size_t, WeightForm> evident_weight_forms(
    const std::shared_ptr<const model::Model>& artifact, const model::Model& original);

}  // namespace assay::judge
