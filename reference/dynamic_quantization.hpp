#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// uint8 codes under the parameters that their own values ask for.
struct DynamicQuantization {
  double scale = 1;  ///< as float32 holds it
  std::int64_t zero_point = 0;
  std::vector<std::int64_t> codes;
};

/// ONNX DynamicQuantizeLinear-11: the range of these finite values, widened to hold 0, over uint8. The scale is rounded
/// to float32 before anything is divided by it. An empty or zero tensor, or one whose scale is zero in float32, has no
/// scale by the standard's formula; 1 stands in.
[[nodiscard]] DynamicQuantization quantize_dynamically(std::span<const double> x);
/// The same of input `index`. Errors   another type than float32; NaN or an infinity.
[[nodiscard]] Result<DynamicQuantization> quantize_dynamically(const OpCall& call, std::size_t index);

/// Real values out of codes: a_scale · b_scale · ((a − a_zero_point) · (b − b_zero_point)) + bias.
/// `a` holds codes without their zero point. Inputs `b` (codes), `b_scale`, `b_zero_point` and `bias` of the call, the
/// last two where they are there; B has one scale and zero point, or one for each column.
[[nodiscard]] Result<std::vector<Tensor>> product_of_codes(const OpCall& call, const Tensor& a, double a_scale,
                                                           std::size_t b, std::size_t b_scale, std::size_t b_zero_point,
                                                           std::size_t bias);

}  // namespace assay::reference
