#include "harness/judge/alignment/forward_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Node;

constexpr double kUnit = 0x1p-24;
/// Roundings granted to an elementwise function of a float32 library (4 ulp) beside that of its result.
constexpr double kFunctionRoundings = 9;

double magnitude(const TensorRange& range) { return std::max(std::abs(range.low), std::abs(range.high)); }

class ErrorPass {
 public:
  ErrorPass(const model::Model& model, RangeTable& ranges)
      : graph_(model.graph), ranges_(ranges), constants_(constants_of(model.graph)), units_(half_units(model)) {}

  void run() {
    for (const auto& input : graph_.inputs) {
      if (const auto found = ranges_.find(input.name); found != ranges_.end()) found->second.is_input = true;
    }
    for (const Node& node : graph_.nodes) {
      for (const std::string& output : node.outputs) {
        const auto found = ranges_.find(output);
        if (found == ranges_.end() || constants_.contains(output)) continue;
        // The original's own rounding, where it has one of 16 bits: a converter may compute in float32.
        const auto half = units_.find(output);
        const double rounding = half == units_.end() ? 0 : half->second * magnitude(found->second);
        const double bound = slack(node, found->second) + rounding;
        found->second.slack =
            node.op_type == "DequantizeLinear" ? bound : std::min(bound, most(node, found->second) + 16 * rounding);
      }
    }
  }

 private:
  const TensorRange* range(std::string_view name) const {
    const auto found = ranges_.find(std::string(name));
    return found == ranges_.end() ? nullptr : &found->second;
  }
  double amax(std::string_view name) const {
    const TensorRange* found = range(name);
    return found == nullptr ? 0 : magnitude(*found);
  }
  double slack_of(std::string_view name) const {
    const TensorRange* found = range(name);
    return found == nullptr ? 0 : found->slack;
  }
  /// What input `index` carries, relative to its magnitude.
  double relative(const Node& node, std::size_t index) const {
    const double size = amax(node.input(index));
    return size > 0 ? slack_of(node.input(index)) / size : 0;
  }
  double largest_slack(const Node& node) const {
    double largest = 0;
    for (const std::string& input : node.inputs) largest = std::max(largest, slack_of(input));
    return largest;
  }
  double summed_relative(const Node& node) const {
    double sum = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) sum += relative(node, i);
    return sum;
  }

  /// What no float32 execution was seen to be off: a bound that lies beyond it has lost sight of the values, as behind
  /// the divisions of a deep network, and would let any scale pass.
  double most(const Node& node, const TensorRange& out) const {
    constexpr double kShare = 0x1p-10, kOfOne = 0x1p-20;  // a function may have values near 1 inside, as Softplus has
    double largest = magnitude(out);
    for (const std::string& input : node.inputs) largest = std::max(largest, amax(input));
    return std::max(kShare * largest, kOfOne);
  }

  double slack(const Node& node, const TensorRange& out) const {
    const OperatorTraits& traits = traits_of(node);
    const double size = magnitude(out);
    if (traits.product != Product::none) return linear(node, size);
    if (node.op_type == "DequantizeLinear") return dequantized(node);
    if (traits.exact || only_moves(node)) return largest_slack(node);
    if (traits.formula == Formula::sum || traits.formula == Formula::difference) {
      double sum = rounding_gamma(static_cast<double>(node.inputs.size())) * size;
      for (const std::string& input : node.inputs) sum += slack_of(input);
      return sum;
    }
    if (traits.formula == Formula::product) {
      return kUnit * size + amax(node.input(0)) * slack_of(node.input(1)) +
             amax(node.input(1)) * slack_of(node.input(0));
    }
    if (traits.formula == Formula::quotient) return divided(node, size);
    if (traits.formula == Formula::power) {
      const TensorRange* exponent = range(node.input(1));
      const double power = exponent == nullptr ? 1 : std::max(1.0, magnitude(*exponent));
      return size * (power * relative(node, 0) + rounding_gamma(kFunctionRoundings));
    }
    if (traits.formula == Formula::exponential)
      return size * (slack_of(node.input(0)) + rounding_gamma(kFunctionRoundings));
    if (traits.normalization == Normalization::given_moments) return normalized(node, size);
    if (traits.normalization == Normalization::own_moments) return normalized_by_itself(node, size);
    if (node.op_type == "DFT" || node.op_type == "STFT") return transformed(node);
    if (const double slope = slope_limit(node); slope > 0) {
      // Near zero an exponential less one has the error of the one, and alpha·(e^(x/alpha) − 1) that of alpha.
      const double unit =
          node.op_type == "Celu" ? std::max(1.0, std::abs(node.float_or("alpha", 1))) : std::max(1.0, slope);
      return slope * slack_of(node.input(0)) + rounding_gamma(kFunctionRoundings) * (size + unit);
    }
    // Reductions and averages add as many roundings as they take elements; anything else is taken as a function of
    // its inputs that carries their relative errors on.
    const TensorRange* in = range(node.input(0));
    const double taken = in != nullptr && out.samples > 0
                             ? std::max(1.0, static_cast<double>(in->samples) / static_cast<double>(out.samples))
                             : 1;
    const auto kernel = node.ints_or("kernel_shape");
    double taps = taken;
    for (const std::int64_t extent : kernel) taps *= static_cast<double>(std::max<std::int64_t>(extent, 1));
    const double in_size = in == nullptr ? size : magnitude(*in);
    return std::max(largest_slack(node), size * summed_relative(node)) +
           rounding_gamma(taps + kFunctionRoundings) * std::max(size, in_size);
  }

  /// Taps and largest Σ|w| over the outputs of a linear node; from the operand's range where it isn't constant.
  struct Taps {
    double count = 1, weight_sum = 0;
  };
  Taps taps_of(const Node& node) const {
    const auto found = constants_.find(node.input(1));
    if (found == constants_.end()) {
      const TensorRange* left = range(node.input(0));
      const bool columns = reads_transposed(node, 0);
      const double count =
          left == nullptr || left->shape.empty()
              ? 1
              : static_cast<double>(std::max<std::int64_t>(1, columns ? left->shape.front() : left->shape.back()));
      return {count, count * amax(node.input(1))};
    }
    const core::Tensor& weight = *found->second;
    const auto axis = weight_layout(node, weight.rank()).axis;  // a vector has none: it is summed over
    const auto outputs = axis >= 0 ? weight.shape()[static_cast<std::size_t>(axis)] : 1;
    core::QuantParams layout;
    layout.scale.assign(static_cast<std::size_t>(outputs), 1);
    if (outputs > 1) layout.axis = axis;
    const auto channels = ChannelIndex::make(weight.shape(), layout);
    std::vector<double> sums(static_cast<std::size_t>(std::max<std::int64_t>(outputs, 1)), 0);
    for (std::int64_t i = 0; channels && i < weight.size(); ++i) {
      sums[channels->channel(static_cast<std::size_t>(i))] += std::abs(weight.as_real(i));
    }
    const double count = outputs > 0 ? static_cast<double>(weight.size()) / static_cast<double>(outputs) : 1;
    return {count, sums.empty() ? 0 : *std::ranges::max_element(sums)};
  }
  double linear(const Node& node, double size) const {
    const Taps taps = taps_of(node);
    const double products = taps.weight_sum * amax(node.input(0)) * std::max(1.0, std::abs(node.float_or("alpha", 1)));
    const double bias = amax(node.input(2)) * std::max(1.0, std::abs(node.float_or("beta", 1)));
    return rounding_gamma(taps.count + 2) * (products + bias) + size * (relative(node, 0) + relative(node, 1));
  }

  /// Each element is a sum over a frame, of values times a factor whose angle may be some 2π·(frame) itself.
  double transformed(const Node& node) const {
    constexpr double kRoundingsOfAnAngle = 8;
    const TensorRange* in = range(node.input(0));
    double count = 1, weights = 0;
    if (node.op_type == "STFT") {
      if (const auto window = constants_.find(node.input(2)); window != constants_.end()) {
        count = static_cast<double>(window->second->size());
        for (const double weight : window->second->to_reals()) weights += std::abs(weight);
      } else if (const auto length = constants_.find(node.input(3)); length != constants_.end()) {
        count = weights = length->second->as_real(0);
      }
    } else if (in != nullptr) {  // an extent of any axis: which one it is may be an input
      for (const std::int64_t extent : in->shape) count = std::max(count, static_cast<double>(extent));
      weights = count;
    }
    const double roundings = kRoundingsOfAnAngle * count + 2 * kFunctionRoundings;
    return weights * (rounding_gamma(roundings) * amax(node.input(0)) + slack_of(node.input(0)));
  }

  /// In a model that is quantized already, float32 and float64 may fall on different sides of a tie: one step.
  double dequantized(const Node& node) const {
    if (constants_.contains(node.input(0))) return 0;
    const auto params = read_quant_params(node, constants_);
    if (!params || params->scale.empty()) return 0;
    return *std::ranges::max_element(params->scale) + largest_slack(node);
  }

  double divided(const Node& node, double size) const {
    const TensorRange* divisor = range(node.input(1));
    double carried = relative(node, 1);
    if (divisor != nullptr && divisor->low * divisor->high > 0) {
      carried = divisor->slack / std::min(std::abs(divisor->low), std::abs(divisor->high));
    }
    return size * (relative(node, 0) + carried + kUnit);
  }

  double normalized(const Node& node, double size) const {
    const auto constant = [&](std::size_t index) {
      const auto found = constants_.find(node.input(index));
      return found == constants_.end() ? core::TensorPtr() : found->second;
    };
    const auto gamma = constant(1), beta = constant(2), mean = constant(3), variance = constant(4);
    if (!gamma || !beta || !mean || !variance) return size * summed_relative(node) + rounding_gamma(4) * size;
    const double epsilon = node.float_or("epsilon", 1e-5);
    double largest = 0;
    const double x = amax(node.input(0)), carried = slack_of(node.input(0));
    for (std::int64_t c = 0; c < gamma->size(); ++c) {
      const double factor = std::abs(gamma->as_real(c)) / std::sqrt(variance->as_real(c) + epsilon);
      const double terms = factor * (x + std::abs(mean->as_real(c))) + std::abs(beta->as_real(c));
      largest = std::max(largest, factor * carried + rounding_gamma(6) * terms);
    }
    return largest;
  }

  /// gamma * (x - mean) / sqrt(variance + epsilon): what x and the mean are off by grows by gamma / sqrt(epsilon) where
  /// the elements are nearly alike; their own spread isn't known here.
  double normalized_by_itself(const Node& node, double size) const {
    const auto gamma = constants_.find(node.input(1));
    const double epsilon = node.float_or("epsilon", 1e-5);
    if (gamma == constants_.end() || !(epsilon > 0)) return size * summed_relative(node) + rounding_gamma(4) * size;
    double factor = 0;
    for (std::int64_t i = 0; i < gamma->second->size(); ++i) {
      factor = std::max(factor, std::abs(gamma->second->as_real(i)));
    }
    const double off = slack_of(node.input(0)) + rounding_gamma(4) * amax(node.input(0));
    return std::min(factor / std::sqrt(epsilon) * off, size) + rounding_gamma(kFunctionRoundings) * size;
  }

  const model::Graph& graph_;
  RangeTable& ranges_;
  Constants constants_;
  std::map<std::string, double, std::less<>> units_;  ///< of tensors of 16 bits
};

}  // namespace

double rounding_gamma(double roundings) {
  const double share = roundings * kUnit;
  return share < 1 ? share / (1 - share) : std::numeric_limits<double>::infinity();
}

void add_forward_errors(const model::Model& model, RangeTable& ranges) { ErrorPass(model, ranges).run(); }

}  // namespace assay::judge
