#pragma once

#include <span>
#include <vector>

#include "harness/judge/audit.hpp"
#include "harness/judge/effective_model.hpp"
#include "harness/judge/layers.hpp"

namespace assay::judge {

/// The parameters whose rounding and clipping a converter is granted: the declared ones where the audit finds them
/// legal, else the audited ones. A wrong scale must not buy its own tolerance.
class GrantedParams {
 public:
  explicit GrantedParams(const LayerContext& context);

  /// For an activation quantized with `declared`.
  [[nodiscard]] core::QuantParams activation(const std::string& tensor, const core::QuantParams& declared) const;
  /// The audited ones, for artifacts that tell none; null where nothing is known of the tensor.
  [[nodiscard]] const core::QuantParams* audited(const std::string& tensor) const;

  /// Half a step of a correct weight quantization per element: of the smaller of the declared scale (null: unknown,
  /// `per_axis` as asked) and the audited one, raised where the bias demands it. Exact zeros have no error.
  /// `bias` (may be null) and `input_scale` (0: unknown) serve that last rule.
  [[nodiscard]] std::vector<double> weight_radius(const core::Tensor& weight, std::int64_t axis,
                                                  const core::QuantParams* declared, const core::Tensor* bias,
                                                  double input_scale) const;
  /// The weight scale granted per channel of `axis` (one element where it is per-tensor).
  [[nodiscard]] std::vector<double> weight_scales(const core::Tensor& weight, std::int64_t axis,
                                                  const core::QuantParams* declared, const core::Tensor* bias,
                                                  double input_scale) const;

 private:
  const LayerContext& context_;
  CalibrationRanges calibration_;
  LegalRanges legal_;
};

/// |Q(v) − v| for v anywhere in [low, high]: half a step, or the distance to the end of the codes.
[[nodiscard]] double rounding_radius(double low, double high, double scale, std::int64_t zero_point, core::DType type);

}  // namespace assay::judge
