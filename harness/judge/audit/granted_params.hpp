#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/float_format.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/weight_policy.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/ranges.hpp"

namespace assay::judge {

/// Where the codes of a quantized tensor lie. Known parameters fix all of it; where a converter does not tell them,
/// every legal choice counts: the coarsest step, and ends that may lie anywhere within an interval.
struct CodeSpan {
  double least_step = 0, step = 0;  ///< finest and coarsest
  Interval bottom, top;             ///< value of the lowest and of the highest code
  core::DType type = core::DType::int8;
  double level_error = 0;  ///< of any code's value, zero's too, beside a product's relative rounding
  double relative = 0;     ///< rounding of what is quantized, and of what codes stand for, to 16 bits

  /// As far as the policy uses the codes. Of several scales, which only a model's own quantizers give an activation,
  /// one that covers them all.
  [[nodiscard]] static CodeSpan of(const core::QuantParams& params, const converters::Policy& policy);
  /// Covers both.
  [[nodiscard]] CodeSpan joined(const CodeSpan& other) const;
  /// Half of the distance between the codes around `value`, at the coarsest of the legal steps and at the finest.
  [[nodiscard]] double half(double value) const { return half_of(value, step, 1); }
  [[nodiscard]] double least_half(double value) const { return half_of(value, least_step, 1.0 / 2); }
  /// The ends of Q(v) for v anywhere in `value`. Q grows, rounds by half a step at most, keeps zero, and never leaves
  /// the codes.
  [[nodiscard]] Interval quantized(const Interval& value) const {
    constexpr double kProductRounding = 0x1p-22;  // a dequantized code is one float32 product
    if (value.low == 0 && value.high == 0) return {-level_error, level_error};  // zero has a code of its own
    const double low = value.low - relative * std::abs(value.low), high = value.high + relative * std::abs(value.high);
    Interval ends{std::min(low - half(low), top.low * (1 - kProductRounding)),
                  std::max(high + half(high), bottom.high * (1 - kProductRounding))};
    ends.low = std::max(ends.low, bottom.low * (1 + kProductRounding));
    ends.high = std::min(ends.high, top.high * (1 + kProductRounding));
    return {ends.low - level_error - relative * std::abs(ends.low),
            ends.high + level_error + relative * std::abs(ends.high)};
  }

 private:
  /// Codes of a floating-point type lie the further apart the larger they are: `share` of the largest distance that
  /// some legal scale gives, where there are several.
  [[nodiscard]] double half_of(double value, double own_step, double share) const {
    if (!core::is_real(type) || !(own_step > 0)) return own_step / 2;
    const double scale = own_step / (2 * core::half_gap(0, type));
    if (least_step == step) return scale * core::half_gap(value / scale, type);
    return std::max(own_step / 2, share * core::half_gap(1, type) * std::abs(value));
  }
};

/// Whether both take their input `index` as it lies, or both its transpose.
[[nodiscard]] bool reads_alike(const model::Node& made, const model::Node& node, std::size_t index);
/// The `params` of a weight in a product that the artifact computes as `made`, as they are of the original's `node`,
/// whose input `index` it is, of `shape`: those of a matrix's transpose where one of the two reads it transposed.
[[nodiscard]] core::QuantParams turned_to(core::QuantParams params, const model::Node& made, const model::Node& node,
                                          std::size_t index, const core::Shape& shape);
/// The values of that weight by its codes, as `node` reads them, with the factor that stays in `made`; null where
/// `operand` isn't a constant in codes.
[[nodiscard]] core::TensorPtr declared_values(const Operand& operand, const model::Node& made, const model::Node& node,
                                              std::size_t index);
/// The same params with the factor that stays in `made`.
[[nodiscard]] core::QuantParams declared_of(core::QuantParams params, const model::Node& made, const model::Node& node,
                                            std::size_t index, const core::Shape& shape);

/// The parameters whose rounding and clipping a converter is granted: the declared ones where the audit finds them
/// legal, else the audited ones. A wrong scale must not buy its own tolerance.
class GrantedParams {
 public:
  explicit GrantedParams(const LayerContext& context);

  /// For an activation quantized with `declared`.
  [[nodiscard]] core::QuantParams activation(const std::string& tensor, const core::QuantParams& declared) const;
  /// Whatever is legal, for artifacts that tell none; nothing where nothing is known of the tensor.
  [[nodiscard]] std::optional<CodeSpan> assumed(const std::string& tensor) const;

  /// The parameters that a correct weight quantization is granted at most, of the smaller of the declared scale (null:
  /// unknown, as the options ask) and the audited one, raised where the bias demands it. `original`: whose weight it
  /// is, of the float model's nodes; `axis`: of its output channels, negative where it has none. `bias` (may be null)
  /// and `input_scale` (0: unknown) serve that last rule.
  [[nodiscard]] core::QuantParams weight_params(std::size_t original, const core::Tensor& weight, std::int64_t axis,
                                                const core::QuantParams* declared, const core::Tensor* bias,
                                                double input_scale) const;
  /// The same where nobody declares them, with the scales that are most likely stored: those that a converter is
  /// granted lie above them by float32's rounding, which turns codes over that lie at a tie, and by that of their own
  /// type.
  [[nodiscard]] core::QuantParams usual_weight_params(std::size_t original, const core::Tensor& weight,
                                                      std::int64_t axis, const core::Tensor* bias,
                                                      double input_scale) const;
  /// Half a step of these per element. Exact zeros have no error.
  [[nodiscard]] std::vector<double> weight_radius(std::size_t original, const core::Tensor& weight, std::int64_t axis,
                                                  const core::QuantParams* declared, const core::Tensor* bias,
                                                  double input_scale) const;

 private:
  using Stored = double StoredScales::*;
  /// weight_params, of scales that were rounded to their type in that way where nobody declares them.
  [[nodiscard]] core::QuantParams weight_params_of(Stored stored, std::size_t original, const core::Tensor& weight,
                                                   std::int64_t axis, const core::QuantParams* declared,
                                                   const core::Tensor* bias, double input_scale) const;
  /// Of a weight of which nobody declares parameters: type, axis and block as they are asked for.
  [[nodiscard]] core::QuantParams asked_layout(std::size_t original, const core::Tensor& weight,
                                               std::int64_t axis) const;
  [[nodiscard]] const core::QuantParams* audited(const std::string& tensor) const;

  const LayerContext& context_;
  CalibrationRanges plain_;  ///< where the context brings ranges alone
  LegalRanges legal_;
  WeightPolicy weight_policy_;
};

}  // namespace assay::judge
