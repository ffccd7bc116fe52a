#pragma once

#include <cstdint>
#include <vector>

#include "reference/op.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {

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

/// Reads input `scale` and, where it is there, input `zero_point`. Both have one element or `extent`.
/// A scale is a parameter and counts as its type stores it: one that the graph computed is rounded to float32 here.
/// Errors   another count; a scale that is not finite or not above zero.
[[nodiscard]] Result<QuantInputs> read_quant_inputs(const OpCall& call, std::size_t scale, std::size_t zero_point,
                                                    std::int64_t extent);

/// The values of input `zero_point` with one element or `extent`; a single 0 where it is left out.
[[nodiscard]] Result<std::vector<std::int64_t>> read_zero_points(const OpCall& call, std::size_t zero_point,
                                                                 std::int64_t extent);

/// Inputs 0 and 1 are int8 or uint8 codes; their zero points (2 and 3, where they are there) have the same types.
[[nodiscard]] core::Status check_code_inputs(const OpCall& call);
[[nodiscard]] core::Status check_code_inputs(const ShapeCall& call);

/// The axis of QuantizeLinear and DequantizeLinear, whose scales are input `scale`: attribute axis (1 by default),
/// which counts only where there is more than one scale. Per-tensor is an axis of extent 1. Errors   scales that are
/// not a list as long as the axis.
[[nodiscard]] Result<AxisSplit> quantization_axis(const OpCall& call, const Shape& shape, std::size_t scale);

/// The rule of both operators for their scales, input 1, and zero points, input 2: of one shape; one element, or a list
/// as long as the axis; blocks of a tensor (block_size) are left to the kernel.
[[nodiscard]] core::Status check_scales(const ShapeCall& call);

/// `values` minus their zero points, which run along `axis`.
[[nodiscard]] std::vector<std::int64_t> without_zero_point(const Tensor& values, std::int64_t axis,
                                                           const std::vector<std::int64_t>& zero_point);

/// Fails where an accumulator leaves 32 bits: ONNX lets it overflow there, so that no result would be the right one.
[[nodiscard]] core::Status check_accumulators(std::span<const std::int64_t> accumulators);

}  // namespace assay::reference
