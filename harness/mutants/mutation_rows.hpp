#pragma once

#include <optional>

#include "harness/core/rng.hpp"
#include "harness/mutants/artifact_mutations.hpp"

/// The kinds of defects, each as MutationRow::apply.
namespace assay::mutants::rows {

// Pairs of QuantizeLinear and DequantizeLinear of activations. mutations_quantizers.cpp
[[nodiscard]] std::optional<Defect> scale(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> zero_point(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> one_side_scale(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> one_side_zero_point(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> other_quantizer(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> pair_removed(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> pair_added(Draft& draft, core::Rng& rng);

// Weights, biases and what stayed in float. mutations_constants.cpp
[[nodiscard]] std::optional<Defect> weight_scale(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> bias_scale(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> weight_zero_point(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> channel_scales_rolled(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> weight_value(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> bias(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> float_constant(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> integer_constant(Draft& draft, core::Rng& rng);

// Attributes of quantizers and of nodes that compute. mutations_attributes.cpp
[[nodiscard]] std::optional<Defect> quantizer_axis(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> pads(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> float_attribute(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> integer_attribute(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> list_attribute(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> word_attribute(Draft& draft, core::Rng& rng);

// Nodes and what they read. mutations_wiring.cpp
[[nodiscard]] std::optional<Defect> operands_swapped(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> operand_twice(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> operand_of_another(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> node_removed(Draft& draft, core::Rng& rng);
[[nodiscard]] std::optional<Defect> node_doubled(Draft& draft, core::Rng& rng);

}  // namespace assay::mutants::rows
