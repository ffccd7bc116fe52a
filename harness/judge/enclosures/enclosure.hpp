#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Unit roundoffs of float32 and float64.
inline constexpr double kFloatUnit = 0x1p-24;
inline constexpr double kDoubleUnit = 0x1p-53;

/// γ_n = n·u / (1 − n·u): bounds (1+u)^n − 1, the relative error of n roundings in a row.
[[nodiscard]] double gamma(double roundings, double unit);

/// What is known of a tensor that somebody else computed: exact arithmetic gives `centre`, and the other's value lies
/// within [low, high], each end moved outwards by `relative` times its magnitude.
struct Enclosure {
  core::TensorPtr centre;
  core::TensorPtr low, high;  ///< null where both equal `centre`
  double relative = 0;
  /// Set where every value is (code - zero_point) * scale of one quantized tensor: a sum of products of two such
  /// tensors is an integer times a constant, and integer engines compute it without error.
  std::shared_ptr<const core::QuantParams> codes;
  /// Steps of the integers that an engine would bring to the output's scale here (of codes, of products of codes).
  std::vector<double> steps;
  bool accumulator = false;  ///< such a sum itself: what divides it by the output's scale is not a float32 division

  [[nodiscard]] bool is_point() const { return low == nullptr; }
  [[nodiscard]] bool is_exact() const { return is_point() && relative == 0; }
  [[nodiscard]] const core::Tensor& low_or_centre() const { return is_point() ? *centre : *low; }
  [[nodiscard]] const core::Tensor& high_or_centre() const { return is_point() ? *centre : *high; }
};

[[nodiscard]] Enclosure exact_enclosure(core::TensorPtr value);
/// [centre − radius, centre + radius]; the radius has the centre's shape.
[[nodiscard]] Enclosure enclosure_around(core::TensorPtr centre, std::span<const double> radius);
/// Largest distance of either end from the centre, `relative` included.
[[nodiscard]] std::vector<double> radius_of(const Enclosure& enclosure);
/// The same set of values with `relative` moved into the ends.
[[nodiscard]] Enclosure with_explicit_ends(const Enclosure& enclosure);

/// Adds one rounding to a float type of 16 bits, whose unit roundoff it is. Errors   unsupported where a value may lie
/// beyond its largest number.
[[nodiscard]] core::Status round_to_half(Enclosure& enclosure, double unit, const model::Node& node);

/// The rounding errors that an executor is granted. All zero: exact arithmetic.
struct Arithmetic {
  double float_unit = 0;             ///< of one float operation
  double accumulator_unit = 0;       ///< of one operation in a sum of products of dequantized codes
  double multiplier_error = 0;       ///< relative error of the factor that such a sum is multiplied with afterwards
  bool integer_accumulator = false;  ///< such sums run over the codes; the bias is a code of scale s_x·s_w
  bool real_bias = false;            ///< a real bias is added to the sum where it is dequantized, not as a code
  bool rounds_bias = false;          ///< a real bias is rounded to a code of scale s_x·s_w first
  bool rounds_accumulator = false;   ///< the scaled sum is rounded to an integer before it is shifted (double rounding)
};

/// Encloses the outputs of `node` for every choice of inputs within `inputs` (null where left out) and of roundings
/// within `arithmetic`. The derivation of each rule stands in docs/oracle_numerics.md.
/// Errors   unsupported where no sound bound is known; those of the reference.
[[nodiscard]] core::Result<std::vector<Enclosure>> enclose_node(const model::Node& node, std::int64_t opset,
                                                                std::span<const Enclosure* const> inputs,
                                                                const Arithmetic& arithmetic);

}  // namespace assay::judge
