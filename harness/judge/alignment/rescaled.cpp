#include "harness/judge/alignment/rescaled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/judge/alignment/effective_linear.hpp"
#include "harness/judge/alignment/original_form.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using model::Node;

/// Float32's error of a folded weight, of a factor and of their quotient.
constexpr double kFactorError = 0x1p-20;

constexpr std::size_t kGamma = 1, kMean = 3;  ///< inputs of BatchNormalization

/// A factor, and how far it may be off, relative to it.
struct ChannelFactor {
  double value = 1, error = 0;
};

/// Factors of one channel between which a quantized value comes out.
struct Interval {
  double low = 0, high = std::numeric_limits<double>::infinity();
};

/// Where most of the intervals meet.
struct Meeting {
  Interval where;
  std::size_t count = 0;
};

Meeting meeting_of(const std::vector<Interval>& intervals) {
  std::vector<std::pair<double, int>> ends;
  for (const Interval& each : intervals) {
    ends.emplace_back(each.low, 0);
    ends.emplace_back(each.high, 1);
  }
  std::ranges::sort(ends);
  Meeting best;
  std::size_t open = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].second == 1) {
      --open;
    } else if (++open > best.count) {
      best.count = open;
      best.where = {ends[i].first, ends[i + 1].first};  // the last end of all closes
    }
  }
  return best;
}

/// Factors with which `exact` is nearest to `steps` steps; one that is cut off may be any larger.
std::optional<Interval> interval_of(double steps, double step, double exact, bool saturated) {
  if (!(step > 0) || exact == 0 || !std::isfinite(exact)) return std::nullopt;
  const double sign = exact < 0 ? -1 : 1;
  const double scaled = sign * steps, unit = step / std::abs(exact);
  Interval out{(scaled - 0.5) * unit * (1 - kFactorError), (scaled + 0.5) * unit * (1 + kFactorError)};
  if (saturated) out.high = std::numeric_limits<double>::infinity();
  out.low = std::max(out.low, 0.0);
  return out.high > 0 ? std::optional(out) : std::nullopt;
}

/// Along which axis a weight has the channels of what the product reads, each `length` neighbours of it.
struct InputChannels {
  std::size_t axis = 0;
  std::int64_t length = 1;
};

class Rescaling {
 public:
  Rescaling(const Evidence& evidence, const ArtifactView& view)
      : evidence_(evidence), form_{*evidence.model, {}}, wiring_(form_.model.graph), context_{evidence_,
                                                                                              &view,
                                                                                              align(evidence, &view),
                                                                                              {},
                                                                                              nullptr,
                                                                                              {}} {
    evidence_.model = &form_.model;  // what is found of a layer counts for the next ones
  }

  std::shared_ptr<const OriginalForm> run() {
    for (const ArtifactNode& made : context_.artifact->nodes()) rescale(made);
    return changed_ ? std::make_shared<const OriginalForm>(std::move(form_)) : nullptr;
  }

 private:
  [[nodiscard]] const model::Graph& graph() const { return form_.model.graph; }

  /// A layer, the constants that its output channels are multiplied by, and the layer or BatchNormalization that reads
  /// it.
  struct Pair {
    std::vector<std::size_t> affine;   ///< the product and what of the original lives on in its weight and bias
    std::vector<std::string> between;  ///< tensors, from the layer's own to what the next one reads
    std::size_t next = 0;
  };

  static bool multiplies_along(const Node& node) {
    const OperatorTraits& traits = traits_of(node);
    const bool pads =
        traits.movement == Movement::pads && node.string_or("mode", "constant") == "constant" && node.input(2).empty();
    return traits.clamp == Clamp::at_zero || traits.enclosing == Enclosing::piecewise_linear ||
           traits.enclosing == Enclosing::max_pool || traits.enclosing == Enclosing::average_pool ||
           traits.movement == Movement::copies || traits.movement == Movement::reshapes || pads;
  }

  std::optional<Pair> pair_of(std::size_t product) const {
    Pair pair{{product}, {}, 0};
    std::string tensor = graph().nodes[product].outputs.front();
    bool folds = true;
    while (!wiring_.is_output(tensor) && wiring_.consumers(tensor).size() == 1) {
      const std::size_t index = wiring_.consumers(tensor).front();
      const Node& node = graph().nodes[index];
      const OperatorTraits& traits = traits_of(node);
      const bool first = node.input(0) == tensor;
      if (folds && context_.alignment->is_gone(index) && is_affine(node, tensor)) {
        pair.affine.push_back(index);
      } else if (first && (traits.product != Product::none || normalizes_by_constants(node))) {
        pair.between.push_back(tensor);
        pair.next = index;
        return pair;
      } else if (first && multiplies_along(node)) {
        folds = false;
        pair.between.push_back(tensor);
      } else {
        return std::nullopt;
      }
      tensor = node.outputs.front();
    }
    return std::nullopt;
  }

  bool is_affine(const Node& node, const std::string& tensor) const {
    const OperatorTraits& traits = traits_of(node);
    if (traits.normalization == Normalization::given_moments) return node.input(0) == tensor;
    if (traits.formula != Formula::sum && traits.formula != Formula::product) return false;
    return graph().initializer(node.input(node.input(0) == tensor ? 1 : 0)) != nullptr;
  }

  std::optional<InputChannels> input_channels(const Node& product, std::int64_t channels) const {
    const Tensor* weight = graph().initializer(product.input(1));
    if (normalizes_by_constants(product)) return InputChannels{};
    if (weight == nullptr || !weight->is_real() || weight->rank() < 2 || reads_transposed(product, 0)) {
      return std::nullopt;
    }
    const Product kind = traits_of(product).product;
    const core::Shape& shape = weight->shape();
    const std::int64_t groups = product.int_or("group", 1);
    if (is_convolution(kind)) {
      const bool apart = groups > 1 && groups == channels && shape[0] == channels && shape[1] == 1;
      if (groups > 1 && !apart) return std::nullopt;
      const std::size_t axis = apart || kind == Product::transposed_convolution ? 0 : 1;
      return shape[axis] == channels ? std::optional(InputChannels{axis, 1}) : std::nullopt;
    }
    const std::size_t axis = reads_transposed(product, 1) ? 1 : shape.size() - 2;
    if (channels == 0 || shape[axis] % channels != 0) return std::nullopt;
    return InputChannels{axis, shape[axis] / channels};
  }

  void rescale(const ArtifactNode& made) {
    if (!made.original || traits_of(made.op).product == Product::none || graph().nodes[*made.original].outputs.empty())
      return;
    const auto linear = effective_linear(context_, made);
    if (!linear || linear->operand != 1 || !made.inputs[1].quantized()) return;
    const auto pair = pair_of(*made.original);
    if (!pair) return;
    const auto next_channels = input_channels(graph().nodes[pair->next], linear->channels);
    const auto factors = factors_of(made, *linear);
    if (!next_channels || !factors) return;
    if (normalizes_by_constants(graph().nodes[pair->next]) &&
        (!is_vector(pair->next, kGamma, factors->size()) || !is_vector(pair->next, kMean, factors->size())))
      return;
    if (!multiply(*pair, *factors)) return;
    divide(pair->next, *next_channels, *factors);
    double error = 0;
    for (const ChannelFactor& factor : *factors) error = std::max(error, factor.error);
    for (const std::string& tensor : pair->between) note(tensor, error);
    note(graph().nodes[*made.original].inputs[1], error);
    note(graph().nodes[pair->next].inputs[1], error);
    changed_ = true;
    context_.alignment = align(evidence_, context_.artifact);  // it holds the model's constants
  }

  void note(const std::string& tensor, double error) { form_.uncertainty[tensor] += error; }

  /// Nothing where the layer is as the original's, or nothing like a multiple of it.
  std::optional<std::vector<ChannelFactor>> factors_of(const ArtifactNode& made, const EffectiveLinear& linear) const {
    const core::QuantParams& params = *made.inputs[1].params;
    const Tensor& codes = *made.inputs[1].constant_codes;
    const auto scales = ChannelIndex::make(linear.weight.shape(), params);
    if (!scales || codes.is_real() || params.scale.empty()) return std::nullopt;
    const std::size_t count = linear.bias.size();
    std::vector<std::vector<Interval>> intervals(count);
    std::vector<double> largest(count, 0);
    std::vector<std::size_t> values(count, 0);
    const auto limits = core::integer_limits(params.type);
    const std::vector<double> weights = linear.weight.to_reals();
    const WeightLayout layout =
        weight_layout(context_.artifact->artifact().graph.nodes[made.index], linear.weight.rank());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t channel = layout.channel(linear.weight.shape(), i), scale = scales->channel(i);
      const auto code = codes.integers()[i];
      const bool saturated = code <= limits.low + 1 || code >= limits.high;
      largest[channel] = std::max(largest[channel], std::abs(weights[i]));
      if (weights[i] == 0) continue;
      ++values[channel];
      const auto interval =
          interval_of(static_cast<double>(code - params.zero_point[scale]), params.scale[scale], weights[i], saturated);
      if (interval) intervals[channel].push_back(*interval);
    }
    add_bias(made, linear, intervals, values);
    const converters::Policy& policy = evidence_.converter.policy;
    std::vector<ChannelFactor> factors(count);
    bool plain = true;
    for (std::size_t c = 0; c < count; ++c) {
      if (intervals[c].empty()) continue;
      constexpr double kNearlyAll = 0.9;
      const Meeting met = meeting_of(intervals[c]);
      if (static_cast<double>(met.count) < kNearlyAll * static_cast<double>(values[c])) return std::nullopt;
      const auto [low, high] = met.where;
      plain = plain && low <= 1 && high >= 1;
      factors[c].value = std::isfinite(high) ? (low + high) / 2 : low;
      factors[c].error = std::isfinite(high) ? (high - low) / (high + low) : 1;
      if (params.scale.size() != count || policy.power_of_two || !(largest[c] > 0)) continue;
      // The channel's own scale says it exactly, where it is that of the channel's largest weight.
      const double exact = policy.divisor_of_weights() * params.scale[linear.scale_of(c)] / largest[c];
      if (exact >= low && exact <= high) factors[c] = {exact, kFactorError};
    }
    return plain ? std::nullopt : std::optional(std::move(factors));
  }

  void add_bias(const ArtifactNode& made, const EffectiveLinear& linear, std::vector<std::vector<Interval>>& intervals,
                std::vector<std::size_t>& values) const {
    if (evidence_.converter.policy.corrects_biases() || made.inputs.size() <= kBias) return;
    const Operand& bias = made.inputs[kBias];
    if (!bias.quantized() || bias.constant_codes == nullptr || bias.constant_codes->is_real() ||
        bias.constant_codes->size() != static_cast<std::int64_t>(linear.bias.size()))
      return;
    for (std::size_t c = 0; c < linear.bias.size(); ++c) {
      const std::size_t s = bias.params->scale.size() == 1 ? 0 : std::min(c, bias.params->scale.size() - 1);
      if (linear.bias[c] == 0) continue;
      ++values[c];
      const auto interval = interval_of(static_cast<double>(bias.constant_codes->integers()[c]), bias.params->scale[s],
                                        linear.bias[c], false);
      if (interval) intervals[c].push_back(*interval);
    }
  }

  /// A constant of `node` with each element times `factor(i)`; under a name of its own where others read it too.
  template <typename Factor>
  void set_scaled(std::size_t node, std::size_t input, const Factor& factor) {
    model::Graph& graph = form_.model.graph;
    Tensor values = *graph.initializer(graph.nodes[node].inputs[input]);
    const std::span<double> reals = values.reals();
    for (std::size_t i = 0; i < reals.size(); ++i) reals[i] *= factor(i);
    replace_constant(graph, wiring_, graph.nodes[node], input, std::make_shared<const Tensor>(std::move(values)),
                     "_scaled");
  }

  /// Can input `input` of `node` be multiplied, one element for each of `channels`?
  bool is_vector(std::size_t node, std::size_t input, std::size_t channels) const {
    const Tensor* values = graph().initializer(graph().nodes[node].input(input));
    return values != nullptr && values->is_real() && values->size() == static_cast<std::int64_t>(channels);
  }

  /// Multiplies what the layer adds and the last that it multiplies by. False where a constant has another form.
  bool multiply(const Pair& pair, const std::vector<ChannelFactor>& factors) {
    const std::size_t channels = factors.size();
    std::vector<std::pair<std::size_t, std::size_t>> vectors;  // node and input
    std::optional<std::size_t> product;
    for (std::size_t i = pair.affine.size(); i-- > 0;) {
      const std::size_t index = pair.affine[i];
      const Node& node = graph().nodes[index];
      const OperatorTraits& traits = traits_of(node);
      if (traits.normalization == Normalization::given_moments) {
        vectors.insert(vectors.end(), {{index, 1}, {index, 2}});
        break;
      }
      if (traits.product != Product::none) {
        product = index;
        if (!node.input(kBias).empty() && takes_bias(traits.product)) vectors.emplace_back(index, kBias);
        break;
      }
      vectors.emplace_back(index, graph().initializer(node.input(1)) != nullptr ? 1 : 0);
      if (traits.formula == Formula::product) break;
    }
    const auto fits = [&](const auto& each) { return is_vector(each.first, each.second, channels); };
    const Tensor* weight = product ? graph().initializer(graph().nodes[*product].input(1)) : nullptr;
    if (!std::ranges::all_of(vectors, fits) || (product && (weight == nullptr || !weight->is_real()))) return false;
    const auto value = [&](std::size_t channel) { return factors[channel].value; };
    for (const auto& [node, input] : vectors) set_scaled(node, input, value);
    if (product) {
      const WeightLayout layout = weight_layout(graph().nodes[*product], weight->rank());
      const core::Shape shape = weight->shape();
      set_scaled(*product, 1, [&](std::size_t i) { return factors[layout.channel(shape, i)].value; });
    }
    return true;
  }

  /// What reads the layer: a weight's input channels, or the mean and gamma that a BatchNormalization has for each.
  void divide(std::size_t next, const InputChannels& channels, const std::vector<ChannelFactor>& factors) {
    if (normalizes_by_constants(graph().nodes[next])) {
      set_scaled(next, kGamma, [&](std::size_t i) { return 1 / factors[i].value; });
      set_scaled(next, kMean, [&](std::size_t i) { return factors[i].value; });
      return;
    }
    const Tensor& weight = *graph().initializer(graph().nodes[next].input(1));
    const core::Shape shape = weight.shape();
    const auto inner =
        static_cast<std::size_t>(channels.length * core::element_count(std::span(shape).subspan(channels.axis + 1)));
    const auto factor = [&](std::size_t i) { return factors[i / inner % factors.size()].value; };
    set_scaled(next, 1, [&](std::size_t i) { return 1 / factor(i); });
  }

  Evidence evidence_;
  OriginalForm form_;
  model::Wiring wiring_;
  LayerContext context_;
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const OriginalForm> rescaled(const Evidence& evidence) {
  if (!evidence.converter.policy.equalizes || evidence.artifact == nullptr || evidence.model == nullptr) return nullptr;
  const auto view = ArtifactView::build(evidence.artifact, *evidence.model);
  if (!view) return nullptr;
  return Rescaling(evidence, *view).run();
}

}  // namespace assay::judge
