#include "harness/judge/quantization/noise_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "harness/core/float_format.hpp"
#include "harness/core/rng.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/artifact/written_out.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/judge/quantization/open_choices.hpp"
#include "reference/executor.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;

/// Runs an artifact with its activations left real and its quantized constants moved.
class OtherRoundings {
 public:
  OtherRoundings(const OriginalValues& originals, const Constants& constants, const DrawnRoundings& roundings,
                 std::uint64_t draw)
      : originals_(originals),
        constants_(constants),
        halves_(roundings.halves),
        steps_(roundings.learned ? 1 : 0.5),
        draw_(draw) {}

  std::optional<Result<std::vector<Tensor>>> operator()(const Node& node, std::int64_t opset,
                                                        std::span<const Tensor* const> inputs) const {
    if (auto rounded = in_halves(node, opset, inputs)) return rounded;
    if (inputs.empty() || inputs[0] == nullptr) return std::nullopt;
    if (node.op_type == "DynamicQuantizeLinear") {
      auto made = reference::execute_node(node, opset, inputs);
      if (made) made->front() = *inputs[0];
      return made;
    }
    if (inputs.size() < 2) return std::nullopt;
    if (node.op_type == "QuantizeLinear") {
      // A constant that is quantized in the graph may have been rounded before it was written there: it is moved
      // behind.
      if (constants_.contains(node.input(0))) return std::nullopt;
      return one(left_real(node, inputs));
    }
    if (node.op_type != "DequantizeLinear") return std::nullopt;
    // Of a quantizer that was left out: values, not codes.
    if (inputs[0]->is_real() && !core::is_code_type(inputs[0]->type())) return one(*inputs[0]);
    auto values = reference::execute_node(node, opset, inputs);
    if (!values) return Result<std::vector<Tensor>>(values.error());
    return one(moved(node, inputs, std::move(values->front())));
  }

 private:
  /// The outputs of a node that computes in 16 bits, moved by what its operands and itself are rounded there.
  std::optional<Result<std::vector<Tensor>>> in_halves(const Node& node, std::int64_t opset,
                                                       std::span<const Tensor* const> inputs) const {
    if (halves_ == nullptr || model::is_quantizer(node) || node.outputs.empty()) return std::nullopt;
    const auto unit = halves_->find(node.outputs.front());
    if (unit == halves_->end()) return std::nullopt;
    auto made = reference::execute_node(node, opset, inputs);
    for (std::size_t i = 0; made && i < std::min(made->size(), node.outputs.size()); ++i) {
      Tensor& values = (*made)[i];
      if (!values.is_real() || values.size() == 0) continue;
      const double typical = std::sqrt(signal_power(values) / static_cast<double>(values.size()));
      core::Rng rng(draw_ + 1, node.outputs[i]);
      constexpr double kRoundings = 2;  // a product's: of two operands and the result, none at its largest everywhere
      for (double& value : values.reals()) {
        const double most = kRoundings * unit->second * std::max(std::fabs(value), typical);
        value += rng.uniform(-most, most);
      }
    }
    return made;
  }

  static Result<std::vector<Tensor>> one(Tensor tensor) { return std::vector<Tensor>{std::move(tensor)}; }

  /// What lies beyond both the quantized values and all that the original has there is cut in both: what an artifact
  /// loses there is no rounding. Where nobody knows what the original has, quantized values that begin or end at zero
  /// may stand for a Relu, and cut like one.
  Tensor left_real(const Node& node, std::span<const Tensor* const> inputs) const {
    Tensor values = *inputs[0];
    const bool has_zero_point = inputs.size() > 2 && inputs[2] != nullptr;
    auto type = static_cast<core::DType>(node.int_or("output_dtype", 0));
    if (type == core::DType::undefined) type = has_zero_point ? inputs[2]->type() : core::DType::uint8;
    if (!values.is_real() || !core::is_code_type(type) || inputs[1] == nullptr) return values;
    const auto [least, most] = core::integer_limits(type);
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    if (const auto original = originals_.find(node.outputs.front()); original != originals_.end()) {
      if (inputs[1]->size() != 1) return values;
      const std::int64_t zero_point = has_zero_point ? inputs[2]->to_integers().front() : 0;
      low = std::min(original->second.low, reference::dequantize(least, inputs[1]->as_real(0), zero_point));
      high = std::max(original->second.high, reference::dequantize(most, inputs[1]->as_real(0), zero_point));
    } else {
      const auto zero_is = [&](std::int64_t end) {
        if (!has_zero_point) return end == 0;
        return std::ranges::all_of(inputs[2]->to_integers(),
                                   [&](std::int64_t zero_point) { return zero_point == end; });
      };
      if (zero_is(least)) low = 0;
      if (zero_is(most)) high = 0;
    }
    for (double& value : values.reals()) value = std::max(std::min(value, high), low);  // NaN stays
    return values;
  }

  Tensor moved(const Node& node, std::span<const Tensor* const> inputs, Tensor values) const {
    const QuantParams steps = quantizer_steps(node, *inputs[1], values.rank());
    const auto channels = ChannelIndex::make(values.shape(), steps);
    if (!channels) return values;
    core::Rng rng(draw_ + 1, node.input(0));
    const std::span<double> out = values.reals();
    channels->for_each_run(out.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
      const double scale = steps.scale[channel];
      for (std::size_t i = first; i < first + length; ++i) {
        const double most = 2 * steps_ * std::fabs(scale) * core::half_gap(out[i] / scale, inputs[0]->type());
        out[i] += rng.uniform(-most, most);
      }
    });
    return values;
  }

  const OriginalValues& originals_;
  const Constants& constants_;
  const std::map<std::string, double, std::less<>>* halves_;
  double steps_;
  std::uint64_t draw_;
};

/// Runs an artifact as it is, but that values at a tie may fall to either side, as in float32 or, `twice`, that all
/// fall to one side that do where they are rounded once before.
class OtherSides {
 public:
  OtherSides(bool twice, std::uint64_t draw) : twice_(twice), draw_(draw) {}

  std::optional<Result<std::vector<Tensor>>> operator()(const Node& node, std::int64_t opset,
                                                        std::span<const Tensor* const> inputs) const {
    constexpr double kFloat32Error = 0x1p-20;  // of a sum of a few products, or of a division by a scale
    constexpr double kRoundedBefore = 0.25;    // of a step: half of the half step before a shift by one
    const double side = draw_ % 2 == 0 ? 1 : -1;
    if (inputs.empty() || inputs[0] == nullptr || !inputs[0]->is_real()) return std::nullopt;
    const bool dynamic = node.op_type == "DynamicQuantizeLinear";
    const bool rounds =
        node.op_type == "QuantizeLinear" && inputs.size() > 1 && inputs[1] != nullptr && inputs[1]->size() == 1;
    if (!rounds && !dynamic) return std::nullopt;
    Tensor values = *inputs[0];
    const double step = dynamic ? dynamic_step(values.reals(), false) : inputs[1]->as_real(0);
    const bool real = rounds && inputs.size() > 2 && inputs[2] != nullptr && inputs[2]->is_real() && step > 0;
    core::Rng rng(draw_ + 1, node.input(0));
    for (double& value : values.reals()) {
      if (!std::isfinite(value))
        continue;  // the logarithm of a zero: no last place that differs, and a code of its own
      const double error = kFloat32Error * std::max(step, std::fabs(value));
      const double own = real ? 2 * step * core::half_gap(value / step, inputs[2]->type()) : step;
      value += twice_ ? side * (kRoundedBefore * own + error) : rng.uniform(-1, 1) * error;
    }
    std::vector<const Tensor*> others(inputs.begin(), inputs.end());
    others[0] = &values;
    return reference::execute_node(node, opset, others);
  }

 private:
  bool twice_;
  std::uint64_t draw_;
};

/// Every rounded tensor's elements are moved by up to half the coarsest legal step before they are rounded.
void shake(FakeQuantization& prediction, const LayerContext& context, const QuantizationPlan& plan, core::Rng& rng) {
  const auto move = [&](const std::string& tensor) {
    const TensorPtr value = prediction.carried(tensor);
    const auto& roundings = plan.roundings(tensor);
    if (roundings.empty() || !roundings.front().span || value == nullptr || !value->is_real()) return;
    for (std::size_t i = 0; i < value->reals().size(); ++i) {
      const double most = roundings.front().span->half(value->reals()[i]);
      prediction.nudge(tensor, i, rng.uniform(-most, most));
    }
  };
  const model::Graph& graph = context.evidence.model->graph;
  for (const model::ValueInfo& input : graph.inputs) move(input.name);
  for (const Node& node : graph.nodes) std::ranges::for_each(node.outputs, move);
}

/// What the nodes of a graph decide in several draws, against what they decide without.
class Decisions {
 public:
  explicit Decisions(const model::Graph& graph) {
    for (const Node& node : graph.nodes) {
      const Leap leap = traits_of(node).leap;
      if (leap == Leap::decides) decided_.insert(node.outputs.begin(), node.outputs.end());
      jumps_ = jumps_ || leap == Leap::jumps;
    }
  }
  [[nodiscard]] bool are_in(const std::string& tensor, const Tensor& value) const {
    return !value.is_real() || decided_.contains(tensor);
  }
  void begin(const std::string& tensor, const Tensor& value) {
    if (are_in(tensor, value)) plain_.insert_or_assign(tensor, value);
  }
  void add(const std::string& tensor, const Tensor& value) {
    const auto plain = plain_.find(tensor);
    if (plain == plain_.end() || plain->second.shape() != value.shape() || plain->second.is_real() != value.is_real()) {
      return;
    }
    Turned& turned = turned_[tensor];
    turned.ever.resize(static_cast<std::size_t>(value.size()));
    for (std::int64_t i = 0; i < value.size(); ++i) {
      if (plain->second.as_real(i) == value.as_real(i)) continue;
      turned.ever[static_cast<std::size_t>(i)] = true;
      ++turned.count;
    }
  }
  /// How many may turn over in one conversion for one that does in the mean draw; 1 where none do.
  [[nodiscard]] double factor(std::uint64_t draws) const {
    if (jumps_) return std::numeric_limits<double>::infinity();  // an element may jump that jumped in no draw
    double most = 1;
    for (const auto& [tensor, turned] : turned_) {
      const auto ever = static_cast<double>(std::ranges::count(turned.ever, true));
      if (turned.count > 0)
        most = std::max(most, ever * static_cast<double>(draws) / static_cast<double>(turned.count));
    }
    return most;
  }

 private:
  struct Turned {
    std::vector<bool> ever;
    std::size_t count = 0;
  };
  bool jumps_ = false;
  std::set<std::string, std::less<>> decided_;
  std::map<std::string, Tensor, std::less<>> plain_;
  std::map<std::string, Turned, std::less<>> turned_;
};

bool comparable(const Tensor& expected, const Tensor& actual) {
  return expected.shape() == actual.shape() && expected.is_real() == actual.is_real();
}

/// Why nobody knows which values are rounded, or how; empty where that is known.
std::string unknown_choices(const Evidence& evidence) {
  if (evidence.converter.policy.weights != converters::WeightRounding::nearest)
    return "the policy learns its weights, and no artifact shows them";
  if (lists_scales(evidence)) return "";
  const converters::Method method = evidence.options.method;
  if (method != converters::Method::minmax) {
    return fmt::format("the converter reports no scales, and those of method {} do not follow from the data alone",
                       converters::method_name(method));
  }
  if (evidence.converter.policy.averaging == converters::Averaging::none) return "";
  return "the converter reports no scales, and its policy averages ranges";
}

/// What an output is, or a constant that is given out: within half a step of a scale for all of it.
TensorPtr value_of(const FakeQuantization& prediction, const QuantizationPlan& plan, const std::string& output,
                   core::Rng& rng) {
  if (TensorPtr value = prediction.value(output)) return value;
  const auto constant = plan.alignment().constants.find(output);
  if (constant == plan.alignment().constants.end() || !constant->second->is_real()) return nullptr;
  constexpr double kSteps = 254;
  Tensor moved = *constant->second;
  double largest = 0;
  for (const double value : moved.reals()) largest = std::max(largest, std::fabs(value));
  for (double& value : moved.reals()) value += rng.uniform(-largest, largest) / kSteps;
  return std::make_shared<const Tensor>(std::move(moved));
}

Result<NoiseByOutput> draw_under(const LayerContext& context, const Supposed& supposed, const core::TensorMap& inputs,
                                 const core::TensorMap& expected, std::uint64_t draws) {
  const QuantizationPlan plan(context);
  FakeQuantization prediction(context, plan, supposed);
  if (const core::Status status = prediction.run(inputs); !status) return status.error();
  const model::Graph& graph = context.evidence.model->graph;
  Decisions decisions(graph);
  const auto each_tensor = [&](const auto& visit) {
    for (const Node& node : graph.nodes) {
      for (const std::string& output : node.outputs) {
        if (const TensorPtr value = prediction.carried(output)) visit(output, *value);
      }
    }
  };
  each_tensor([&](const std::string& tensor, const Tensor& value) { decisions.begin(tensor, value); });
  NoiseByOutput noise;
  core::Rng rng(1, "roundings");
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    shake(prediction, context, plan, rng);
    prediction.shake_dynamic(draw + 1);
    if (const core::Status status = prediction.run(inputs); !status) return status.error();
    each_tensor([&](const std::string& tensor, const Tensor& value) { decisions.add(tensor, value); });
    for (const model::ValueInfo& output : graph.outputs) {
      const TensorPtr value = value_of(prediction, plan, output.name, rng);
      const auto want = expected.find(output.name);
      if (value == nullptr || want == expected.end() || !comparable(want->second, *value)) continue;
      noise[output.name].add(want->second, *value);
    }
  }
  for (auto& [output, drawn] : noise) drawn.widen(decisions.factor(draws));
  return noise;
}

}  // namespace

double noise_power(const Tensor& expected, const Tensor& actual) {
  if (!expected.is_real()) {
    const auto want = expected.integers(), got = actual.integers();
    std::size_t unlike = 0;
    for (std::size_t i = 0; i < want.size(); ++i) unlike += want[i] == got[i] ? 0U : 1U;
    return static_cast<double>(unlike);
  }
  const auto want = expected.reals(), got = actual.reals();
  double power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i]));
    if (!same) power += (got[i] - want[i]) * (got[i] - want[i]);
  }
  return power;
}

double signal_power(const Tensor& expected) {
  if (expected.is_real()) {
    const auto values = expected.reals();
    return std::accumulate(values.begin(), values.end(), 0.0,
                           [](double sum, double v) { return std::isfinite(v) ? sum + v * v : sum; });
  }
  std::unordered_map<std::int64_t, std::size_t> counts;
  std::size_t most = 0;
  for (const std::int64_t value : expected.integers()) most = std::max(most, ++counts[value]);
  return static_cast<double>(expected.integers().size() - most);
}

void NoiseDraws::add(const Tensor& expected, const Tensor& actual) {
  counts_ = !expected.is_real();
  powers_.push_back(noise_power(expected, actual));
}

void NoiseDraws::or_else(const NoiseDraws& other) {
  if (powers_.empty() || other.mean() > mean()) *this = other;
}

double NoiseDraws::mean() const {
  return std::accumulate(powers_.begin(), powers_.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(powers_.size(), 1));
}

double NoiseDraws::limit(double exponent) const {
  if (powers_.empty()) return std::numeric_limits<double>::infinity();
  const auto count = static_cast<double>(powers_.size());
  // Nothing seen in all draws still has a probability of up to exponent / draws, with e^-exponent to be wrong.
  const double average = mean() + (counts_ ? exponent / count : 0);
  if (!std::isfinite(average) || !(average > 0)) return factor_ * average;
  double variance = 0;
  for (const double power : powers_) variance += (power - average) * (power - average);
  variance /= std::max(count - 1, 1.0);
  if (counts_) variance = std::max(variance, average);  // elements that differ independently
  // A gamma distribution of this mean and variance is a sum of squares of scale variance / average.
  return factor_ * (average + std::sqrt(2 * variance * exponent) + variance / average * exponent);
}

Result<NoiseByOutput> draw_from_artifact(const model::Model& artifact, const core::TensorMap& given,
                                         const std::vector<model::ValueInfo>& outputs, const OriginalValues& originals,
                                         const DrawnRoundings& roundings) {
  constexpr std::uint64_t kSides = 3;
  // Its roundings show in no quantizer that could be left out.
  const auto hidden = std::ranges::find_if(artifact.graph.nodes, &is_on_codes);
  if (hidden != artifact.graph.nodes.end()) {
    return core::Error{
        core::ErrorKind::unsupported, "this operator on codes isn't followed", hidden->name, hidden->op_type, {}};
  }
  const Constants constants = constants_of(artifact.graph);
  const core::TensorMap inputs = widened_inputs(given);
  Decisions decisions(artifact.graph);
  std::vector<core::TensorMap> rounded;
  for (std::uint64_t side = 0; side < kSides; ++side) {
    reference::RunOptions options;
    if (side == 0)
      options.observe = [&](const std::string& name, const Tensor& value) { decisions.begin(name, value); };
    if (side > 0) options.substitute = OtherSides(roundings.twice, side);
    auto run = reference::execute(artifact, inputs, options);
    if (!run) return run.error();
    rounded.push_back(*std::move(run));
  }
  // Which side is no matter of chance where an engine rounds twice: each is drawn for itself, and the widest counts.
  std::vector<NoiseByOutput> by_side(roundings.twice ? kSides : 1);
  for (std::uint64_t draw = 0; draw < roundings.draws; ++draw) {
    reference::RunOptions options;
    options.observe = [&](const std::string& name, const Tensor& value) { decisions.add(name, value); };
    options.substitute = OtherRoundings(originals, constants, roundings, draw);
    const auto other = reference::execute(artifact, inputs, options);
    if (!other) return other.error();
    for (std::size_t side = 0; side < by_side.size(); ++side) {
      const core::TensorMap& own = rounded[roundings.twice ? side : draw % kSides];
      for (const model::ValueInfo& output : outputs) {
        const auto ours = own.find(output.name), theirs = other->find(output.name);
        if (ours == own.end() || theirs == other->end() || !comparable(theirs->second, ours->second)) continue;
        by_side[side][output.name].add(theirs->second, ours->second);
      }
    }
  }
  NoiseByOutput noise;
  for (const NoiseByOutput& side : by_side) {
    for (const auto& [output, drawn] : side) noise[output].or_else(drawn);
  }
  for (auto& [output, drawn] : noise) drawn.widen(decisions.factor(roundings.draws));
  return noise;
}

Result<NoiseByOutput> draw_from_policy(const LayerContext& context, const QuantizationPlan& plan,
                                       const core::TensorMap& inputs, const core::TensorMap& expected,
                                       std::uint64_t draws) {
  if (const std::string unknown = unknown_choices(context.evidence); !unknown.empty()) {
    return core::Error{core::ErrorKind::unsupported, unknown, {}, {}, {}};
  }
  NoiseByOutput widest;
  const Evidence evidence = without_outputs(context.evidence);
  const bool may_fold = std::ranges::any_of(plan.alignment().operations,
                                            [](const auto& entry) { return entry.maybe_folded.has_value(); });
  for (const bool folds : may_fold ? std::vector{false, true} : std::vector{false}) {
    const LayerContext chosen{.evidence = evidence,
                              .artifact = nullptr,
                              .alignment = align(evidence, nullptr, [&](const Node&) { return folds; }),
                              .reference = {},
                              .ranges = context.ranges,
                              .audited = context.audited,
                              .calibration = context.calibration};
    for (const Supposed& supposed : choices_of_noise(evidence)) {
      const auto noise = draw_under(chosen, supposed, inputs, expected, draws);
      if (!noise) return noise.error();
      for (const auto& [output, drawn] : *noise) widest[output].or_else(drawn);
    }
  }
  return widest;
}

}  // namespace assay::judge
