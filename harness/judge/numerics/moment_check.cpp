#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/numerics/finding_list.hpp"
#include "harness/judge/numerics/moment_check.hpp"
#include "harness/judge/quantization/bound_walk.hpp"
#include "reference/executor.hpp"

// Bias and variance of a single operator's outputs. Each term is derived in docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

TensorPtr transformed(const Tensor& tensor, double (*map)(double)) {
  Tensor result = tensor;
  for (double& value : result.reals()) {
    value = map(value);
  }
  return std::make_shared<const Tensor>(std::move(result));
}

double square(double value) { return value * value; }
double zero(double /*value*/) { return 0; }

/// What is known of the errors of one channel, or of the whole tensor.
struct Moments {
  std::int64_t draws = 0;
  double error = 0, energy = 0;                 ///< Σe, Σe²
  double data = 0, weights = 0, output = 0;     ///< Σ of the elements' variances by source
  double largest_data = 0, largest_output = 0;  ///< largest variance of one element
  double shift = 0;                             ///< Σ of what may move every error to one side
  void add(const Moments& other) {
    draws += other.draws;
    error += other.error;
    energy += other.energy;
    data += other.data;
    weights += other.weights;
    output += other.output;
    largest_data = std::max(largest_data, other.largest_data);
    largest_output = std::max(largest_output, other.largest_output);
    shift += other.shift;
  }
};

/// How far the errors of one channel, or of the whole tensor, go along with the gain that weights which are cut towards
/// zero lose: g = −Σ x·sgn(w)·r of each output, less its mean over the channel, r the radius of a weight's rounding.
struct Gain {
  std::int64_t draws = 0;
  double product = 0;            ///< Σ e·g
  double weights = 0, rest = 0;  ///< its variance by correct rounding: of weights, of the output
  double data = 0;               ///< Σ g²·variance by the input's rounding, each output by itself
  double shift = 0;              ///< Σ |g|·what may move every error to one side
  void add(const Gain& other) {
    draws += other.draws;
    product += other.product;
    weights += other.weights;
    rest += other.rest;
    data += other.data;
    shift += other.shift;
  }
};

/// One weighted operator that reads a graph input and makes a graph output, its constants as the test's reference takes
/// them, and the variances of what is left to chance.
class SingleOperator {
 public:
  SingleOperator(const LayerContext& context, const QuantizationPlan& plan, const Judgement& out)
      : context_(context), plan_(plan) {
    const Alignment& model = plan_.alignment();
    if (model.operations.size() != 1 || !plan_.constants(0).independent) return;
    const Node& node = model.operations[0].node;
    const auto slots = weight_slots(node, model.constants);
    const bool known_op = !reads_transposed(node, 0);
    if (!slots || slots->weight != 1 || !known_op) return;
    const auto& data = plan_.roundings(node.inputs[0]);
    const auto& result = plan_.roundings(node.outputs[0]);
    if (data.size() != 1 || !data[0].span || result.size() > 1) return;
    if (!result.empty() && !result[0].span) return;
    node_ = &node;
    slots_ = *slots;
    input_ = *data[0].span;
    if (!result.empty()) output_ = *result[0].span;
    rounds_twice_ = out.style == StyleName::double_rounding ||
                    (context.artifact == nullptr &&
                     context.evidence.converter.policy.arithmetic == converters::EngineArithmetic::unknown);
    read_constants();
  }

  /// Draws of one step for all values, which floating-point codes aren't.
  [[nodiscard]] bool usable() const { return node_ != nullptr && weight_ != nullptr && !core::is_real(input_.type); }
  [[nodiscard]] const Node& node() const { return *node_; }
  /// True where the reference takes the declared codes, so that weights and bias carry no error.
  [[nodiscard]] bool declared() const { return declared_; }
  [[nodiscard]] std::int64_t channel_axis(std::int64_t rank) const {
    return traits_of(*node_).product == Product::matmul ? rank - 1 : 1;
  }

  /// How many outputs of a channel read one input element.
  [[nodiscard]] double overlap() const {
    const Product product = traits_of(*node_).product;
    if (!is_convolution(product)) return 1;
    const core::Shape& shape = weight_->shape();
    const std::vector<std::int64_t> strides = node_->ints_or("strides", {});
    double count = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) {
      const auto kernel = static_cast<double>(shape[i]);
      const double stride = i - 2 < strides.size() ? static_cast<double>(strides[i - 2]) : 1;
      count *= product == Product::convolution ? std::ceil(kernel / stride) : kernel;
    }
    return count;
  }

  /// By channel; empty where the data don't suffice, the gains also where the reference has the declared weights.
  struct Measured {
    std::vector<Moments> moments;
    std::vector<Gain> gains;
  };
  [[nodiscard]] Measured measure(const Execution& execution) const {
    const auto x = execution.inputs.find(node_->inputs[0]);
    const auto y = execution.outputs.find(node_->outputs[0]);
    if (x == execution.inputs.end() || y == execution.outputs.end() || !x->second.is_real() || !y->second.is_real()) {
      return {};
    }
    if (codes_in_use(x->second, input_) < kCodesInUse) return {};
    const TensorPtr data{TensorPtr(), &x->second};
    const auto reference = run(data, weight_, bias_);
    const TensorPtr no_bias = bias_ == nullptr ? nullptr : transformed(*bias_, &zero);
    const auto squares = run(transformed(*data, &square), weight_variance_, no_bias);
    const auto gains = run(data_variance(*data), weight_square_, no_bias);
    if (!reference || !squares || !gains || reference->shape() != y->second.shape()) return {};
    const auto values = reference->reals();
    if (distinct_values(values, kDistinctOutputs) < kDistinctOutputs) return {};
    Measured measured{collect(*reference, y->second, *squares, *gains), {}};
    const bool rounds = context_.evidence.converter.policy.weights == converters::WeightRounding::nearest;
    if (!declared_ && rounds) measured.gains = collect_gains(*data, *reference, y->second, *squares, *gains);
    return measured;
  }

 private:
  void read_constants() {
    const Alignment& model = plan_.alignment();
    weight_ = model.constants.find(node_->inputs[1])->second;
    const auto bias = node_->input(2).empty() ? model.constants.end() : model.constants.find(node_->inputs[2]);
    bias_ = bias == model.constants.end() ? nullptr : bias->second;
    if (!weight_->is_real() || (bias_ != nullptr && bias_->size() == 1)) {
      weight_ = nullptr;
      return;
    }
    weight_variance_ = variance(plan_.constants(0).inputs.at(1));
    if (bias_ != nullptr) bias_radius_ = radius_of(plan_.constants(0).inputs.at(2));
    step_ = weight_variance_ == nullptr ? 0 : largest_radius(plan_.constants(0).inputs.at(1)) * 2 * input_.step;
    take_declared();
    std::vector<double> power = transformed(*weight_, &square)->to_reals();
    const auto uncertain = weight_variance_->reals();
    for (std::size_t i = 0; i < power.size(); ++i) {
      power[i] += uncertain[i];  // with Var w: the product of both errors
    }
    weight_square_ = std::make_shared<const Tensor>(weight_->type(), weight_->shape(), std::move(power));
  }

  /// An artifact's own codes: then neither weight nor bias has an error left.
  void take_declared() {
    const ArtifactNode* made = plan_.alignment().operations[0].made;
    if (made == nullptr || made->inputs.size() < 2) return;
    const Node& plain = context_.evidence.model->graph.nodes[0];
    if (alpha_of(plain) != 1 || beta_of(plain) != 1) return;
    const TensorPtr weight = constant_value(made->inputs[1]);
    if (weight == nullptr || weight->shape() != weight_->shape()) return;
    const TensorPtr bias = bias_ == nullptr || made->inputs.size() < 3 ? nullptr : constant_value(made->inputs[2]);
    if (bias_ != nullptr && (bias == nullptr || bias->shape() != bias_->shape())) return;
    weight_ = weight;
    bias_ = bias;
    weight_variance_ = transformed(*weight_, &zero);
    bias_radius_.assign(bias_radius_.size(), 0);
    declared_ = true;
  }

  static double largest_radius(const Enclosure& enclosure) {
    const std::vector<double> radius = radius_of(enclosure);
    return radius.empty() ? 0 : *std::ranges::max_element(radius);
  }

  /// A radius is the end of a uniform draw: variance r²/3.
  static TensorPtr variance(const Enclosure& enclosure) {
    std::vector<double> values = radius_of(enclosure);
    for (double& value : values) {
      value = value * value / 3;
    }
    return std::make_shared<const Tensor>(enclosure.centre->type(), enclosure.centre->shape(), std::move(values));
  }

  [[nodiscard]] TensorPtr data_variance(const Tensor& data) const {
    Tensor result = data;
    for (double& value : result.reals()) {
      value = value == 0 ? 0 : square(input_.step) / 12;
    }
    return std::make_shared<const Tensor>(std::move(result));
  }

  static std::size_t codes_in_use(const Tensor& values, const CodeSpan& span) {
    std::set<double> codes;
    for (const double value : values.reals()) {
      if (codes.size() >= kCodesInUse) break;  // more of them decide nothing
      if (value >= span.bottom.high && value <= span.top.low) codes.insert(std::nearbyint(value / span.step));
    }
    return codes.size();
  }

  [[nodiscard]] std::optional<Tensor> run(const TensorPtr& x, const TensorPtr& w, const TensorPtr& b) const {
    std::vector<const Tensor*> operands{x.get(), w.get()};
    if (node_->inputs.size() > 2) operands.push_back(b.get());
    auto outputs = reference::execute_node(*node_, plan_.alignment().opset(node_->domain), operands);
    if (!outputs) return std::nullopt;
    return std::move(outputs->front());
  }

  [[nodiscard]] std::vector<Moments> collect(const Tensor& reference, const Tensor& actual, const Tensor& weights,
                                             const Tensor& data) const {
    const core::Shape& shape = reference.shape();
    const auto axis = static_cast<std::size_t>(channel_axis(reference.rank()));
    if (axis >= shape.size()) return {};
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const auto extent = static_cast<std::size_t>(shape[axis]);
    const double step = output_ ? output_->step : 0;
    std::vector<Moments> channels(extent);
    std::vector<std::map<double, std::int64_t>> codes(extent);
    for (std::size_t i = 0; i < reference.reals().size(); ++i) {
      const std::size_t c = i / inner % extent;
      const double expected = reference.reals()[i];
      const double bias_radius = bias_radius_.empty() ? 0 : bias_radius_[c % bias_radius_.size()];
      Moments& moments = channels[c];
      const double carried = weights.reals()[i] + data.reals()[i] + square(bias_radius) / 3;
      if (carried == 0 || near_an_end(expected, carried)) continue;
      const double error = actual.reals()[i] - expected;
      if (output_) ++codes[c][std::nearbyint(expected / step)];
      ++moments.draws;
      moments.error += error;
      moments.energy += error * error;
      moments.data += data.reals()[i];
      moments.weights += weights.reals()[i] + square(bias_radius) / 3;
      moments.output += step * step / 12;
      moments.largest_data = std::max(moments.largest_data, data.reals()[i]);
      moments.largest_output = step * step / 12;
      moments.shift += step_ / 2 + (rounds_twice_ ? step / 4 : 0) + 4 * kFloatUnit * std::fabs(expected);
    }
    for (std::size_t c = 0; output_ && c < extent; ++c) {
      take_codes(codes[c], step, channels[c]);
    }
    return channels;
  }

  /// Where the weight of output channel `c` and tap `t` lies, and a weight that hands every tap on as a channel.
  struct Taps {
    std::size_t groups = 1, count = 0;  ///< count: of one output
    std::function<std::size_t(std::size_t c, std::size_t t)> weight;
    TensorPtr picking;
  };
  [[nodiscard]] std::optional<Taps> taps() const {
    const Product product = traits_of(*node_).product;
    const core::Shape& shape = weight_->shape();
    const auto extent = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
    std::size_t window = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) window *= extent(i);
    Taps taps;
    core::Shape picking = shape;
    if (is_convolution(product)) {
      taps.groups = static_cast<std::size_t>(node_->int_or("group", 1));
      const bool transposed = product == Product::transposed_convolution;
      const std::size_t of_group = transposed ? extent(0) / taps.groups : extent(1);
      const std::size_t count = taps.count = of_group * window;
      const std::size_t outputs = transposed ? extent(1) : extent(0) / taps.groups;
      taps.weight = [=](std::size_t c, std::size_t t) {
        const std::size_t input = c / outputs * of_group + t / window;
        return transposed ? (input * outputs + c % outputs) * window + t % window : c * count + t;
      };
      picking[transposed ? 1 : 0] = static_cast<std::int64_t>(transposed ? count : taps.groups * count);
    } else {
      if (shape.size() != 2) return std::nullopt;
      const bool transposed = reads_transposed(*node_, 1);
      const std::size_t count = taps.count = extent(transposed ? 1 : 0), outputs = extent(transposed ? 0 : 1);
      taps.weight = [=](std::size_t c, std::size_t t) { return transposed ? c * count + t : t * outputs + c; };
      picking = {shape[transposed ? 1 : 0], shape[transposed ? 1 : 0]};
    }
    std::vector<double> values(static_cast<std::size_t>(core::element_count(picking)), 0.0);
    // Of the picking weight each group has as many outputs as taps.
    for (std::size_t c = 0; c < taps.groups * taps.count; ++c) {
      const std::size_t t = c % taps.count, input = c / taps.count * (taps.count / window) + t / window;
      const bool transposed = product == Product::transposed_convolution;
      values[transposed ? (input * taps.count + t) * window + t % window : c * taps.count + t] = 1;
    }
    taps.picking = std::make_shared<const Tensor>(weight_->type(), picking, std::move(values));
    return taps;
  }

  [[nodiscard]] std::vector<Gain> collect_gains(const Tensor& x, const Tensor& reference, const Tensor& actual,
                                                const Tensor& weights, const Tensor& data) const {
    constexpr std::size_t kMostProducts = std::size_t{1} << 26;  // an operator of a case has thousands
    const std::optional<Taps> taps = this->taps();
    const auto elements = reference.reals().size();
    if (!taps || elements * taps->count > kMostProducts) return {};
    const auto picked = run({TensorPtr(), &x}, taps->picking, nullptr);
    const auto axis = static_cast<std::size_t>(channel_axis(reference.rank()));
    if (!picked || axis >= reference.shape().size()) return {};
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < reference.shape().size(); ++i)
      inner *= static_cast<std::size_t>(reference.shape()[i]);
    const auto extent = static_cast<std::size_t>(reference.shape()[axis]);
    const std::vector<double> radius = radius_of(plan_.constants(0).inputs.at(1));
    const auto w = weight_->reals();
    const double step = output_ ? output_->step : 0;
    std::vector<Gain> channels(extent);
    std::vector<double> towards_zero(taps->count), lost(elements / extent), along(taps->count);
    for (std::size_t c = 0; c < extent; ++c) {
      const std::size_t first = c / (extent / taps->groups) * taps->count;
      double largest = 0;
      for (std::size_t t = 0; t < taps->count; ++t) {
        const std::size_t k = taps->weight(c, t);
        largest = std::max(largest, std::fabs(w[k]));
        towards_zero[t] = w[k] > 0 ? -radius[k] : w[k] < 0 ? radius[k] : 0;
      }
      const auto element = [&](std::size_t p) { return (p / inner * extent + c) * inner + p % inner; };
      const auto tap = [&](std::size_t p, std::size_t t) {
        return picked->reals()[(p / inner * taps->groups * taps->count + first + t) * inner + p % inner];
      };
      const auto counts = [&](std::size_t p) {
        const std::size_t i = element(p);
        const double carried = weights.reals()[i] + data.reals()[i];
        return carried > 0 && !near_an_end(reference.reals()[i], carried);
      };
      double sum = 0;
      std::size_t used = 0;
      for (std::size_t p = 0; p < lost.size(); ++p) {
        lost[p] = 0;
        if (!counts(p)) continue;
        for (std::size_t t = 0; t < taps->count; ++t) lost[p] += tap(p, t) * towards_zero[t];
        sum += lost[p];
        ++used;
      }
      Gain& gain = channels[c];
      std::ranges::fill(along, 0);
      std::map<double, std::int64_t> codes;
      double distance = 0;  // Σ|g|
      for (std::size_t p = 0; p < lost.size() && used > 0; ++p) {
        if (!counts(p)) continue;
        const std::size_t i = element(p);
        const double g = lost[p] - sum / static_cast<double>(used);
        if (output_) ++codes[std::nearbyint(reference.reals()[i] / step)];
        distance += std::fabs(g);
        ++gain.draws;
        gain.product += (actual.reals()[i] - reference.reals()[i]) * g;
        gain.rest += g * g * step * step / 12;
        gain.data += g * g * data.reals()[i];
        gain.shift += std::fabs(g) *
                      (step_ / 2 + (rounds_twice_ ? step / 4 : 0) + 4 * kFloatUnit * std::fabs(reference.reals()[i]));
        for (std::size_t t = 0; t < taps->count; ++t) along[t] += tap(p, t) * g;
      }
      for (std::size_t t = 0; t < taps->count; ++t) {
        // The largest weight of a channel lies at the end of its codes: by the divisor always on the same side of one.
        const double moved = std::fabs(along[t] * towards_zero[t]);
        const bool is_largest = std::fabs(w[taps->weight(c, t)]) == largest;
        (is_largest ? gain.shift : gain.weights) += is_largest ? moved : moved * moved / 3;
      }
      if (output_) take_codes(codes, distance / static_cast<double>(std::max<std::size_t>(used, 1)) * step, gain);
    }
    return channels;
  }

  /// Rounding is uniform in a channel, and independent of its values, where these spread over enough codes: else there
  /// is nothing to test. What the slope of their density leaves of the mean is at most a quarter of `step`, that of one
  /// element, times the largest share of one code.
  template <typename Channel>
  static void take_codes(const std::map<double, std::int64_t>& codes, double step, Channel& channel) {
    if (codes.size() < kCodesInUse) {
      channel = {};
      return;
    }
    std::int64_t largest = 0;
    for (const auto& [code, count] : codes) {
      largest = std::max(largest, count);
    }
    channel.shift += step / 4 * static_cast<double>(largest);
  }

  /// Where the output may be cut off, its error is no uniform draw.
  [[nodiscard]] bool near_an_end(double expected, double variance) const {
    if (!output_) return false;
    const double reach = context_.threshold() * std::sqrt(variance) + output_->step / 2;
    return expected - reach < output_->bottom.high || expected + reach > output_->top.low;
  }

  /// Whether an input lies beyond its codes: what is cut off there is no uniform draw.
 public:
  [[nodiscard]] bool clips(const Execution& execution) const {
    const auto x = execution.inputs.find(node_->inputs[0]);
    if (x == execution.inputs.end() || !x->second.is_real()) return true;
    const double half = input_.step / 2 * (1 + 0x1p-20);
    return std::ranges::any_of(x->second.reals(), [&](double value) {
      return value < input_.bottom.high - half || value > input_.top.low + half;
    });
  }

 private:
  const LayerContext& context_;
  const QuantizationPlan& plan_;
  const Node* node_ = nullptr;
  WeightSlots slots_;
  CodeSpan input_;  ///< the coarsest legal step: the tests ask for no more than upper limits
  std::optional<CodeSpan> output_;
  TensorPtr weight_, bias_, weight_variance_, weight_square_;
  std::vector<double> bias_radius_;
  double step_ = 0;  ///< of the accumulator: results lie on multiples of s_x·s_w, so a mean may miss by half of it
  bool declared_ = false, rounds_twice_ = false;
};

class MomentCheck {
 public:
  MomentCheck(const LayerContext& context, const QuantizationPlan& plan, Judgement& out)
      : context_(context), out_(out), operator_(context, plan, out) {}

  std::vector<Finding> run() {
    if (!operator_.usable()) return {};
    for (const Execution& execution : context_.evidence.executions) {
      if (execution.data_set != "typical" || execution.reply.outcome != converters::Outcome::ok ||
          operator_.clips(execution)) {
        continue;
      }
      const auto [channels, gains] = operator_.measure(execution);
      Moments whole;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        test(channels[c], fmt::format(", channel {}", c), execution.data_set);
        whole.add(channels[c]);
      }
      // A tensor's channels read the same inputs: their errors are correlated with any sign.
      if (!channels.empty()) test(whole, "", execution.data_set, static_cast<double>(channels.size()));
      Gain all;
      for (const Gain& gain : gains) all.add(gain);
      if (!gains.empty()) test(all, execution.data_set, static_cast<double>(gains.size()));
    }
    for (const auto& [name, margin] : {std::pair{"bias_margin", bias_margin_},
                                       {"variance_margin", variance_margin_},
                                       {"gain_margin", gain_margin_}}) {
      if (margin > 0) out_.metrics.push_back({operator_.node().outputs[0], "typical", name, margin});
    }
    return findings_.take(out_);
  }

 private:
  /// `readers` outputs of the set share one input vector (a tensor's channels do).
  void test(const Moments& moments, const std::string& where, const std::string& data_set, double readers = 1) {
    if (moments.draws == 0) return;
    const auto draws = static_cast<double>(moments.draws);
    const double shared = operator_.overlap() * readers;
    // The sum's variance: inputs that several outputs read count as often, a fixed weight error in every draw.
    const double variance = shared * moments.data + draws * moments.weights + moments.output;
    const double bias_limit = sum_limit(variance, alarm_exponent(context_, kBiasShare)) + moments.shift;
    const Spread spread{moments.data + moments.weights + moments.output,
                        shared * moments.largest_data + moments.weights + moments.largest_output};
    const double root =
        std::sqrt(energy_limit(spread, alarm_exponent(context_, kVarianceShare))) + moments.shift / std::sqrt(draws);
    bias_margin_ = std::max(bias_margin_, std::fabs(moments.error) / bias_limit);
    variance_margin_ = std::max(variance_margin_, moments.energy / (root * root));
    if (!(std::fabs(moments.error) <= bias_limit)) {
      report(where, data_set, "mean error", moments.error / draws, bias_limit / draws, moments.draws,
             "errors of correct rounding average out; a mean that doesn't is a wrong bias or zero_point, or codes that "
             "are cut instead of rounded");
    }
    if (!(moments.energy <= root * root)) {
      report(where, data_set, "mean squared error", moments.energy / draws, root * root / draws, moments.draws,
             "the noise is more than these scales make: a wrong scale or axis, or one rounding too many");
    }
  }

  void test(const Gain& gain, const std::string& data_set, double channels) {
    const double variance = gain.weights + gain.rest + operator_.overlap() * channels * gain.data;
    const double limit = sum_limit(variance, alarm_exponent(context_, kBiasShare)) + gain.shift;
    if (!(limit > 0)) return;
    gain_margin_ = std::max(gain_margin_, std::fabs(gain.product) / limit);
    if (std::fabs(gain.product) <= limit) return;
    report("", data_set, "error along the gain of all weights", gain.product, limit, gain.draws,
           gain.product > 0 ? "the weights are smaller than the original's: cut towards zero instead of rounded"
                            : "the weights are larger than the original's: moved away from zero instead of rounded");
  }

  void report(const std::string& where, const std::string& data_set, std::string_view statistic, double value,
              double limit, std::int64_t draws, std::string_view meaning) {
    const Node& node = context_.evidence.model->graph.nodes[0];
    Finding finding;
    finding.facet = Facet::numerics;
    finding.layer = "L2";
    finding.node = node.name;
    finding.op = node.op_type;
    finding.tensor = operator_.node().outputs[0];
    finding.data_set = data_set;
    finding.margin = std::fabs(value) / limit;
    finding.message = fmt::format(
        "node \"{}\" ({}), tensor \"{}\"{}, data set \"{}\": {} {:.6g} over {} elements against the {} weights, "
        "threshold {:.6g}\n  {}",
        node.name, node.op_type, finding.tensor, where, data_set, statistic, value, draws,
        operator_.declared() ? "artifact's own" : "original's", limit, meaning);
    findings_.add(std::move(finding));
  }

  const LayerContext& context_;
  Judgement& out_;
  SingleOperator operator_;
  double bias_margin_ = 0, variance_margin_ = 0, gain_margin_ = 0;
  FindingList findings_;
};

}  // namespace

std::vector<Finding> check_moments(const LayerContext& context, const QuantizationPlan& plan, Judgement& out) {
  return MomentCheck(context, plan, out).run();
}

}  // namespace assay::judge
