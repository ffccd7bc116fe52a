#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/op.hpp"
#include "reference/op_checks.hpp"
#include "reference/quant_layout.hpp"

namespace assay::reference {

/// The types of 8-bit codes.
inline constexpr std::array kByteTypes{DType::int8, DType::uint8};

/// Scales and zero points that an operator takes as inputs: one of each (per tensor) or one for each index along an
/// axis. A zero point that is left out is 0.
struct QuantInputs {
  std::vector<double> scale;
  std::vector<std::int64_t> zero_point;

  [[nodiscard]] double scale_at(std::int64_t index) const { return scale[scale.size() == 1 ? 0 : at(index)]; }
  [[nodiscard]] std::int64_t zero_point_at(std::int64_t index) const {
    return zero_point[zero_point.size() == 1 ? 0 : at(index)];
  }
};

/// Which scales there may be. One below zero is no step, but means something where codes are read: the symmetric
/// quantizer of blocks in ONNX Runtime makes such, and 0 for a block of zeros.
enum class ScaleSign { positive, any };

/// Input `scale`. It is a parameter and counts as its type stores it: one that the graph computed is rounded here.
/// Errors   a scale that is not finite, or not of `sign`.
[[nodiscard]] Result<Tensor> stored_scales(const OpCall& call, std::size_t scale, ScaleSign sign);

/// Reads input `scale` and, where it is there, input `zero_point`. Both have one element or `extent`.
/// Errors   another count; those of stored_scales.
[[nodiscard]] Result<QuantInputs> read_quant_inputs(const OpCall& call, std::size_t scale, std::size_t zero_point,
                                                    std::int64_t extent, ScaleSign sign = ScaleSign::positive);

/// The values of input `zero_point` with one element or `extent`; a single 0 where it is left out.
/// Errors   another count; unsupported for floating-point codes whose zero point is not 0.
[[nodiscard]] Result<std::vector<std::int64_t>> read_zero_points(const OpCall& call, std::size_t zero_point,
                                                                 std::int64_t extent);

/// Inputs 0 and 1 are int8 or uint8 codes; their zero points (2 and 3, where they are there) have the same types.
[[nodiscard]] core::Status check_code_inputs(const OpCall& call);
[[nodiscard]] core::Status check_code_inputs(const ShapeCall& call);

/// The layout for data of `shape` and the scales in input `scale`: one scale; one for each index along attribute axis
/// (1 by default, opset 13); or, with attribute block_size (opset 21), one for each block of that many elements along
/// the axis. The zero points, where they are there, have the scales' shape.
/// Errors   shapes that don't fit.
[[nodiscard]] Result<QuantLayout> quant_layout(const OpCall& call, const Shape& shape, std::size_t scale);

/// The rule of both operators for their scales, input 1, and zero points, input 2: of one shape; one element, or a list
/// as long as the axis; blocks of a tensor (block_size) are left to the kernel.
[[nodiscard]] core::Status check_scales(const ShapeCall& call);

/// Types that QuantizeLinear and DequantizeLinear take later than ONNX has them: codes of 16 bits, scales in halves.
inline constexpr std::array kQuantizerTypes{TypeVersion{DType::float16, 19}, TypeVersion{DType::bfloat16, 19},
                                            TypeVersion{DType::int16, 21}, TypeVersion{DType::uint16, 21}};

/// `values` minus their zero points, which run along `axis`.
[[nodiscard]] std::vector<std::int64_t> without_zero_point(const Tensor& values, std::int64_t axis,
                                                           const std::vector<std::int64_t>& zero_point);

/// Fails where an accumulator leaves 32 bits: ONNX lets it overflow there, so that no result would be the right one.
[[nodiscard]] core::Status check_accumulators(std::span<const std::int64_t> accumulators);

}  // namespace assay::reference
