#pragma once

#include <string_view>

#include "harness/judge/artifact/artifact_view.hpp"

namespace assay::judge {

/// An invalid_model error about `node`.
[[nodiscard]] core::Error broken_node(const model::Node& node, std::string message);

/// The constant called `name`, or null.
[[nodiscard]] core::TensorPtr find_constant(const Constants& constants, std::string_view name);

/// As only_moves(node) in operators.hpp, where the constants of its graph are known: a Pad whose constant is zero moves
/// too, since zero has a code under all parameters.
[[nodiscard]] bool only_moves(const model::Node& node, const Constants& constants);

/// A Gemm's C that is not one value per column: no accumulator can begin with it, so that engines have no INT8 form of
/// such a product, or add it apart.
[[nodiscard]] bool has_matrix_bias(const model::Node& node, const Constants& constants);

/// The scales of a QuantizeLinear of values of `rank`, with their axis and block and nothing else.
[[nodiscard]] core::QuantParams quantizer_steps(const model::Node& quantizer, const core::Tensor& scale,
                                                std::int64_t rank);

/// Magnitudes of the bias that the artifact's node adds on codes, `alpha` times, or of that of another node with the
/// same weight where it is larger in steps; null where there is none. A weight's scale is raised until that fits into
/// int32, whatever the original's own bias is: factors and an Add may have gone into it.
[[nodiscard]] core::TensorPtr bias_on_codes(const ArtifactView& view, const ArtifactNode& made, double alpha);

/// A constant scale and an optional zero_point as parameters; `axis` and `block` (0: none) apply where there are
/// several scales, `fallback_type` where no zero_point states the type. Errors   invalid_model, naming `node`, where
/// they aren't constant or their shapes break ONNX's rule.
[[nodiscard]] core::Result<core::QuantParams> make_params(const model::Node& node, const Constants& constants,
                                                          std::string_view scale_name, std::string_view zero_point_name,
                                                          core::DType fallback_type, std::int64_t axis,
                                                          std::int64_t block);

/// A node that makes codes whose scale each inference finds from what it quantizes: the names of the three.
struct DynamicCodes {
  std::string codes, scale, zero_point;
};
/// DynamicQuantizeLinear, or a QuantizeLinear whose scale is computed from its own input.
[[nodiscard]] std::optional<DynamicCodes> dynamic_codes(const model::Node& node, const model::Wiring& wiring,
                                                        const model::Graph& graph);
/// The same of the node that makes `codes`, also where they were moved since.
[[nodiscard]] std::optional<DynamicCodes> dynamic_codes_behind(std::string_view codes, const model::Wiring& wiring,
                                                               const model::Graph& graph);
/// A DequantizeLinear of codes, also moved ones, scale and zero point of one such node.
[[nodiscard]] bool reads_dynamic_codes(const model::Node& node, const model::Wiring& wiring, const model::Graph& graph);

}  // namespace assay::judge
