#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

[[nodiscard]] inline double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// Parameters that cover `range` and zero.
///
/// Formula  lo' = min(lo, 0), hi' = max(hi, 0). Asymmetric: scale = (hi' - lo') / (qmax - qmin), zero_point =
///          clamp(round_half_even(qmin - lo' / scale)). Symmetric: scale = max(-lo', hi') / 127, zero_point 0 for int8
///          and 128 for uint8.
/// Edges    a range without extent (or below float32's least normal) gets scale 1, so that zero stays exact.
[[nodiscard]] QuantParams activation_params(const Range& range, DType type, bool symmetric);

/// Largest |code - zero_point| of the type: how far a product can reach.
[[nodiscard]] double largest_code_distance(const QuantParams& params);

/// Largest magnitude per index along `axis` (of the whole tensor without one).
[[nodiscard]] std::vector<double> magnitudes_along(const Tensor& tensor, std::optional<std::int64_t> axis);

/// Code of `value`: saturate(round_half_even(value / scale) + zero_point).
[[nodiscard]] std::int64_t code_of(double value, double scale, std::int64_t zero_point, DType type);

/// Constant parameters of a Quantize- or DequantizeLinear node; nothing where they are computed.
[[nodiscard]] std::optional<QuantParams> declared_params(const model::Graph& graph, const model::Node& node);

/// Codes of a whole tensor with per-tensor or per-axis parameters.
[[nodiscard]] Tensor codes_of(const Tensor& values, const QuantParams& params);

}  // namespace assay::embedded
