#include "harness/judge/audit/normalization_limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

constexpr double kRelativeError = 0x1p-22;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Half of the coarsest step that the policy gives codes of values up to `largest`, and float32's error.
double half_step(double largest, const Evidence& evidence) {
  const converters::Policy& policy = evidence.converter.policy;
  const auto most = static_cast<double>(core::integer_limits(evidence.options.weight).high);
  const double step = largest / std::min(policy.divisor, most) * (policy.power_of_two ? 2 : 1);
  return std::max(step, policy.scale_floor) / 2 * (1 + kRelativeError) + kRelativeError * largest;
}

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

/// The noise of a gain g' in place of g is (g' − g)·√(σ² + ε) where the data have the stated variance. With
/// g = γ/√(σ² + ε), the σ² at which the gain is g ± r is (σ² + ε)·(g/(g ± r))² − ε.
std::optional<NormalizationLimits> variance_limits(const model::Node& node, const Constants& constants,
                                                   const core::Tensor& actual, const Evidence& evidence) {
  const auto affine = read_batch_normalization(node, constants);
  if (!affine) return std::nullopt;
  const double epsilon = node.float_or("epsilon", 1e-5);
  const std::vector<double> variance = find_constant(constants, node.input(kVariance))->to_reals();
  const double radius = half_step(largest_of(affine->gain), evidence);
  NormalizationLimits limits;
  double made = 0, allowed = 0;
  for (std::size_t c = 0; c < variance.size(); ++c) {
    const double gain = std::fabs(affine->gain[c]), square = variance[c] + epsilon;
    const double now = gain * std::sqrt(square / (actual.reals()[c] + epsilon));
    made += (now - gain) * (now - gain) * square;
    allowed += radius * radius * square;
    const auto at = [&](double other) { return square * (gain / other) * (gain / other) - epsilon; };
    if (!(gain > 0)) {
      limits.elements.push_back({-kInfinity, kInfinity});
    } else {
      limits.elements.push_back({at(gain + radius), gain > radius ? at(gain - radius) : kInfinity});
    }
  }
  if (!(made > allowed)) return std::nullopt;
  limits.noise = std::sqrt(made / allowed);
  return limits;
}

}  // namespace

std::optional<NormalizationLimits> normalization_limits(const model::Node& node, std::size_t input,
                                                        const Constants& constants, const Operand& operand,
                                                        const Evidence& evidence) {
  const Normalization kind = traits_of(node).normalization;
  if (kind == Normalization::none || input == 0 || !operand.quantized()) return std::nullopt;
  const core::TensorPtr constant = find_constant(constants, node.input(input));
  const core::TensorPtr actual = dequantized_constant(operand);
  if (constant == nullptr || actual == nullptr || !constant->is_real() || actual->size() != constant->size())
    return std::nullopt;
  if (kind == Normalization::given_moments && input == kVariance)
    return variance_limits(node, constants, *actual, evidence);
  const double radius = half_step(largest_of(constant->reals()), evidence);
  NormalizationLimits limits;
  for (const double value : constant->reals()) limits.elements.push_back({value - radius, value + radius});
  return limits;
}

}  // namespace assay::judge
