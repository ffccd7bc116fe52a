#include "harness/judge/quantization/quantization_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/normalization_limits.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;
using model::Node;

/// A constant within half a step of its own quantization.
Enclosure rounded_constant(const TensorPtr& constant, const QuantParams& params) {
  const auto index = ChannelIndex::make(constant->shape(), params);
  if (!index) {
    return exact_enclosure(constant);
  }
  const std::span<const double> values = constant->reals();
  std::vector<double> radius(values.size());
  index->for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const double sign = params.scale[channel] < 0 ? -1 : 1;  // a negative scale gives v the code that s gives -v
    const QuantParams one{{sign * params.scale[channel]}, {params.zero_point[channel]}, params.type, {}};
    const CodeSpan span = CodeSpan::of(one, {});
    for (std::size_t i = first; i < first + length; ++i) {
      const double value = sign * values[i];
      const Interval ends = span.quantized({value, value});
      radius[i] = std::max(ends.high - value, value - ends.low);
    }
  });
  return enclosure_around(constant, radius);
}

/// What of the constant's values lies between `limits`.
Enclosure kept_within(const Enclosure& constant, const std::vector<Interval>& limits) {
  Enclosure kept = with_explicit_ends(constant);
  Tensor low = kept.low_or_centre(), high = kept.high_or_centre();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    low.reals()[i] = std::max(low.reals()[i], limits[i].low);
    high.reals()[i] = std::min(high.reals()[i], limits[i].high);
  }
  kept.low = std::make_shared<const Tensor>(std::move(low));
  kept.high = std::make_shared<const Tensor>(std::move(high));
  return kept;
}

/// Weights like 0.25 everywhere are rounded alike: their errors add up instead of averaging out.
bool enough_unlike_values(const Tensor& weight, std::int64_t axis) {
  constexpr std::size_t kLeast = 8;
  std::size_t inner = 1;
  const auto along = static_cast<std::size_t>(std::max<std::int64_t>(axis, 0));
  for (std::size_t i = along + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const std::size_t channels = axis < 0 ? 1 : static_cast<std::size_t>(weight.shape()[along]);
  std::vector<std::vector<double>> used(channels);
  const std::span<const double> values = weight.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      used[i / inner % channels].push_back(std::fabs(values[i]));
    }
  }
  return std::ranges::all_of(used, [](std::vector<double>& channel) {
    std::ranges::sort(channel);
    const auto unlike = static_cast<std::size_t>(std::unique(channel.begin(), channel.end()) - channel.begin());
    return unlike >= kLeast && 2 * unlike >= channel.size();
  });
}

/// How far codes of its own may move the elements of a constant: half a step of 8 bits, or of float8, symmetric or not;
/// and what the policy's scale cuts off, where the largest lies beyond its last code.
std::vector<double> own_radius(const TensorPtr& constant, const converters::Options& options,
                               const converters::Policy& policy) {
  double low = 0, high = 0;
  for (const double value : constant->reals()) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double extent = std::max(high - low, 2 * std::max(high, -low));
  std::vector<double> radius(static_cast<std::size_t>(constant->size()), extent / 254 / 2);
  if (core::is_real(options.activation)) {
    const double scale = extent / 2 / static_cast<double>(core::integer_limits(options.activation).high);
    const CodeSpan span = CodeSpan::of({{scale}, {0}, options.activation, {}}, {});
    for (std::size_t i = 0; i < radius.size(); ++i) radius[i] = span.half(constant->reals()[i]);
    return radius;
  }
  for (const bool symmetric : {true, options.symmetric}) {
    const std::vector<double> stated =
        radius_of(rounded_constant(constant, derive_params(low, high, options.activation, symmetric, policy)));
    for (std::size_t i = 0; i < radius.size(); ++i) radius[i] = std::max(radius[i], stated[i]);
  }
  return radius;
}

/// What a correction adds to a bias has no rule: the declared one, times the factor that its node has for it, stands
/// for the original's. Null where it has another form.
TensorPtr corrected_bias(const Operand& declared, const Tensor& original, double factor = 1) {
  TensorPtr value = constant_value(declared);
  if (value == nullptr || !value->is_real() || value->shape() != original.shape()) return nullptr;
  if (factor == 1) return value;
  std::vector<double> values = value->to_reals();
  for (double& each : values) each *= factor;
  return std::make_shared<const Tensor>(value->type(), value->shape(), std::move(values));
}

/// Nothing is rounded behind it: it moves, and the policy states no other, or it makes no data. Where neither policy
/// nor scales say whose range the result has, it may be its own, unless all elements are there: then it is the same.
bool keeps_its_codes(const Node& node, const Evidence& evidence) {
  const OperatorTraits& traits = traits_of(node);
  if (traits.shape_only || traits.constant) return true;
  if (!only_moves(node) || !may_carry(node, evidence.converter.policy)) return false;
  const bool told = evidence.converter.policy.shares || !evidence.conversion.tensors.empty();
  return told || traits.movement == Movement::copies || traits.movement == Movement::reshapes ||
         traits.movement == Movement::permutes;
}

}  // namespace

QuantizationPlan::QuantizationPlan(const LayerContext& context)
    : context_(context),
      model_(*context.alignment),
      granted_(context),
      original_units_(half_units(*context.evidence.model)) {
  if (context_.artifact != nullptr) {
    collect_artifact_roundings();
  } else {
    assume_roundings();
  }
  constants_.resize(model_.operations.size());
  for (std::size_t i = 0; i < model_.operations.size(); ++i) {
    collect_constants(i);
    if (context_.artifact != nullptr) compute_constants(i);
  }
}

const std::vector<QuantizationPlan::Rounding>& QuantizationPlan::roundings(const std::string& tensor) const {
  static const std::vector<Rounding> kNone;
  const auto found = roundings_.find(tensor);
  return found == roundings_.end() ? kNone : found->second;
}

void QuantizationPlan::collect_artifact_roundings() {
  for (const Quantizer& quantizer : context_.artifact->quantizers()) {
    has_inner_ = has_inner_ || (!quantizer.constant && quantizer.original.empty());
    if (quantizer.constant || quantizer.original.empty()) {
      continue;
    }
    const std::string tensor = model_.after_removed_activation(quantizer.original);
    const QuantParams granted = granted_.activation(tensor, quantizer.params);
    roundings_[tensor].push_back(
        {CodeSpan::of(granted, context_.evidence.converter.policy), quantizer.codes, quantizer.chained});
  }
}

bool QuantizationPlan::runs_in_float(const Alignment::Operation& entry) const {
  return judge::runs_in_float(context_.evidence, context_.evidence.model->graph.nodes[entry.original]);
}

/// Without an artifact every real tensor that is not merely moved may be rounded, with any legal parameters or, where
/// the converter reports its scales and they are legal, those. What it reports counts for moved tensors too.
void QuantizationPlan::assume_roundings() {
  const auto assume = [&](const std::string& tensor, bool moved) {
    const auto& told = context_.evidence.conversion.tensors;
    const auto found = std::find_if(told.begin(), told.end(), [&](const auto& t) { return t.name == tensor; });
    const bool usable = found != told.end() && found->params.scale.size() == 1 && found->params.zero_point.size() == 1;
    if (usable) {
      const QuantParams granted = granted_.activation(tensor, found->params);
      roundings_[tensor].push_back({CodeSpan::of(granted, context_.evidence.converter.policy), "", false});
    } else if (const auto span = moved ? std::nullopt : granted_.assumed(tensor)) {
      roundings_[tensor].push_back({span, "", false});
    }
  };
  for (const model::ValueInfo& input : context_.evidence.model->graph.inputs) {
    assume(input.name, false);
  }
  for (const Alignment::Operation& entry : model_.operations) {
    for (const std::string& output : entry.node.outputs) {
      if (!output.empty()) {
        assume(output, keeps_its_codes(entry.node, context_.evidence) && !moves_constants(entry.node));
      }
    }
  }
}

/// Takes elements of a table of weights, or the like: nothing before it has codes.
bool QuantizationPlan::moves_constants(const Node& node) const {
  if (!only_moves(node)) return false;
  for (std::size_t i = 0; i < std::min(data_input_count(node), node.inputs.size()); ++i) {
    if (!model_.constants.contains(node.inputs[i])) return false;
  }
  return true;
}

std::string QuantizationPlan::rounded_source(std::size_t entry, std::size_t index) const {
  const model::Graph& graph = context_.evidence.model->graph;
  const std::string& read = model_.operations[entry].node.inputs[index];
  for (std::string tensor = read;;) {
    const auto producer = model_.wiring.producer(tensor);
    if (!roundings(tensor).empty()) return tensor;
    if (!producer || !only_moves(graph.nodes[*producer], model_.constants) || graph.nodes[*producer].inputs.empty())
      return read;
    tensor = graph.nodes[*producer].inputs.front();
  }
}

/// What a node makes of constants alone: where the artifact lacks it, or another node reads a constant in its place,
/// the converter computed it, in float.
void QuantizationPlan::compute_constants(std::size_t index) {
  const Node& node = model_.operations[index].node;
  std::vector<const Enclosure*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto constant = constants_[index].inputs.find(i);
    const bool known = constant != constants_[index].inputs.end();
    if (!known && !node.inputs[i].empty()) {
      return;
    }
    inputs.push_back(known ? &constant->second : nullptr);
  }
  if (!model::captured_names(node).empty()) {
    return;
  }
  auto outputs = enclose_node(node, model_.opset(node.domain), inputs, Arithmetic{.float_unit = kFloatUnit});
  for (std::size_t i = 0; outputs && i < std::min(node.outputs.size(), outputs->size()); ++i) {
    if ((*outputs)[i].centre->is_real()) {
      if (model_.operations[index].made != nullptr) kept_.insert(node.outputs[i]);
      computed_[node.outputs[i]] = std::move((*outputs)[i]);
    }
  }
}

void QuantizationPlan::collect_constants(std::size_t index) {
  const Alignment::Operation& entry = model_.operations[index];
  const ArtifactNode* made = entry.made;
  const bool may_quantize = made != nullptr || (context_.artifact == nullptr && !runs_in_float(entry));
  for (std::size_t i = 0; i < entry.node.inputs.size(); ++i) {
    const QuantParams* own =
        made != nullptr && i < made->inputs.size() && made->inputs[i].params ? &*made->inputs[i].params : nullptr;
    const bool constant = made != nullptr && i < made->inputs.size() &&
                          (made->inputs[i].constant_codes != nullptr || made->inputs[i].constant_values != nullptr);
    if (const auto computed = computed_.find(entry.node.inputs[i]); computed != computed_.end()) {
      if (!constant && kept_.contains(entry.node.inputs[i])) continue;  // the walk brings it, as an activation
      Enclosure& value = constants_[index].inputs[i] = computed->second;
      if (own != nullptr) {
        value = rounded_constant(computed->second.centre, *own);
        rules::widen(value, radius_of(computed->second));
      }
      continue;
    }
    const auto found = model_.constants.find(entry.node.inputs[i]);
    if (found == model_.constants.end()) {
      continue;
    }
    Enclosure value = exact_enclosure(found->second);
    if (made != nullptr && context_.evidence.converter.policy.corrects_biases() &&
        model_.bias_behind_product(entry.original) == i) {
      // Its operands may have changed places.
      const auto declared = std::ranges::find_if(
          made->inputs, [&](const Operand& operand) { return corrected_bias(operand, *found->second) != nullptr; });
      if (declared != made->inputs.end()) {
        constants_[index].inputs[i] = exact_enclosure(corrected_bias(*declared, *found->second));
        continue;
      }
    }
    // A constant operand of Add, Concat … : half a step of its own quantization.
    const bool real = found->second->is_real();
    if (real && own != nullptr) {
      value = rounded_constant(found->second, *own);
      if (const auto limits = normalization_limits(entry.node, i, model_.constants, made->inputs[i], context_.evidence))
        value = kept_within(value, limits->elements);
    } else if (real && may_quantize && context_.artifact == nullptr && context_.evidence.options.calibrates() &&
               (!only_moves(entry.node) || moves_constants(entry.node)) && i < data_input_count(entry.node) &&
               found->second->size() > 0) {
      // Data alone: the scales of a Resize or the statistics of a BatchNormalization are nothing to quantize.
      value = enclosure_around(
          found->second, own_radius(found->second, context_.evidence.options, context_.evidence.converter.policy));
    }
    constants_[index].inputs[i] = std::move(value);
  }
  if (const auto bias = folded_bias_.find(index); bias != folded_bias_.end()) {
    constants_[index].inputs[2] = bias->second;
  }
  grant_split_bias(index, made);
  if (const auto slots = weight_slots(entry.node, model_.constants)) {
    grant_weight(index, *slots, may_quantize ? made : nullptr);
    if (entry.maybe_folded && may_quantize) {
      grant_folded(index, *slots);
    }
  }
}

/// Nobody knows whether the BatchNormalization behind became part of the weights: y = g·(Wx + b) + shift either way.
/// Each error that the folded form would have made counts where it can stand in the unfolded one: that of the weight, g
/// times smaller, in the weight; that of the bias in the BatchNormalization's own.
void QuantizationPlan::grant_folded(std::size_t index, const WeightSlots& slots) {
  const Alignment::Operation& entry = model_.operations[index];
  const Alignment::Folded& folded = *entry.maybe_folded;
  const CodeSpan* span = data_span(index, 0);
  const double least_scale = span == nullptr ? 0 : span->least_step;
  const std::vector<double> scales =
      granted_.weight_params(entry.original, *folded.weight, slots.axis, nullptr, folded.bias.get(), least_scale).scale;
  std::vector<double> radius =
      granted_.weight_radius(entry.original, *folded.weight, slots.axis, nullptr, folded.bias.get(), least_scale);
  Enclosure& weight = constants_[index].inputs[slots.weight];
  const std::vector<double> own = radius_of(weight);
  const std::span<const double> plain = weight.centre->reals();
  const std::span<const double> gained = folded.weight->reals();
  for (std::size_t i = 0; i < radius.size(); ++i) {
    radius[i] = gained[i] == 0 ? own[i] : std::max(own[i], radius[i] * std::fabs(plain[i] / gained[i]));
  }
  weight = enclosure_around(weight.centre, radius);

  const auto behind = std::find_if(model_.operations.begin(), model_.operations.end(),
                                   [&](const auto& other) { return other.maybe_folded_into == index; });
  if (behind == model_.operations.end() || span == nullptr) {
    return;
  }
  std::vector<double> bias_radius;
  for (std::size_t c = 0; c < folded.gains.size(); ++c) {
    const double step = span->step * scales[c % scales.size()];
    bias_radius.push_back(step / 2 + 0x1p-22 * std::fabs(folded.bias->as_real(static_cast<std::int64_t>(c))));
  }
  const TensorPtr bias = model_.constants.find(behind->node.inputs[kBias])->second;
  folded_bias_[static_cast<std::size_t>(behind - model_.operations.begin())] = enclosure_around(bias, bias_radius);
}

bool QuantizationPlan::may_be_fine_data(std::size_t operation, std::size_t operand) const {
  constexpr std::size_t kNarrow = 8;
  return context_.artifact == nullptr && operand == 0 && sums_products(model_.operations[operation].node) &&
         core::element_size_bits(context_.evidence.options.activation) > kNarrow;
}

const CodeSpan* QuantizationPlan::data_span(std::size_t entry, std::size_t index) const {
  const Rounding* rounding = read_by(roundings(rounded_source(entry, index)), model_.codes_read(entry, index));
  return rounding == nullptr || !rounding->span ? nullptr : &*rounding->span;
}

/// MatMul and an Add of a constant that became one operator: the constant is an int32 bias now, of scale s_x·s_w.
void QuantizationPlan::grant_split_bias(std::size_t index, const ArtifactNode* made) {
  const Node& node = model_.operations[index].node;
  if (node.op_type != "Add" || made != nullptr || context_.artifact == nullptr || index == 0) {
    return;
  }
  for (std::size_t before = 0; before < index; ++before) {
    const Node& product = model_.operations[before].node;
    const auto slots = weight_slots(product, model_.constants);
    const auto reads = std::find(node.inputs.begin(), node.inputs.end(), product.outputs.front());
    const ArtifactNode* product_made = model_.operations[before].made;
    if (!slots || reads == node.inputs.end()) {
      continue;
    }
    const CodeSpan* data = data_span(before, slots->weight == 0 ? 1 : 0);
    const bool found = product_made != nullptr && slots->weight < product_made->inputs.size();
    const QuantParams* declared =
        found && product_made->inputs[slots->weight].params ? &*product_made->inputs[slots->weight].params : nullptr;
    if (found && declared == nullptr) {
      continue;  // it runs in float
    }
    const TensorPtr weight = model_.constants.find(product.inputs[slots->weight])->second;
    const std::vector<double> scales =
        granted_
            .weight_params(model_.operations[before].original, *weight, found ? slots->axis : -1, declared, nullptr, 0)
            .scale;
    const double step = data == nullptr ? 0 : data->step * *std::max_element(scales.begin(), scales.end());
    for (auto& [k, value] : constants_[index].inputs) {
      if (value.centre->is_real()) {
        value = enclosure_around(value.centre,
                                 std::vector<double>(static_cast<std::size_t>(value.centre->size()), step / 2));
      }
    }
  }
}

void QuantizationPlan::grant_weight(std::size_t index, const WeightSlots& slots, const ArtifactNode* made) {
  const Alignment::Operation& entry = model_.operations[index];
  NodeConstants& constants = constants_[index];
  const TensorPtr weight = model_.constants.find(entry.node.inputs[slots.weight])->second;
  const bool has_bias = slots.has_bias_slot && !entry.node.input(2).empty();
  const auto bias_found = has_bias ? model_.constants.find(entry.node.inputs[2]) : model_.constants.end();
  const TensorPtr bias = bias_found == model_.constants.end() ? nullptr : bias_found->second;
  constants.inputs[slots.weight] = exact_enclosure(weight);
  if (bias != nullptr) {
    constants.inputs[2] = exact_enclosure(bias);
  }
  const Operand* made_weight =
      made != nullptr && slots.weight < made->inputs.size() ? &made->inputs[slots.weight] : nullptr;
  // A node that is not found again in the artifact may have been quantized there, at a granularity nobody knows.
  const bool lost = context_.artifact != nullptr && made == nullptr;
  const bool unquantized = made_weight == nullptr || !made_weight->quantized();
  const bool in_float =
      !lost && (context_.artifact != nullptr
                    ? unquantized
                    : keeps_weight(context_.evidence, context_.evidence.model->graph.nodes[entry.original]));
  if (in_float || !weight->is_real()) {
    return;
  }
  constants.independent = enough_unlike_values(*weight, slots.axis);
  std::optional<QuantParams> declared_copy;
  double bias_factor = 1;
  TensorPtr on_codes = bias;
  if (made_weight != nullptr) {
    const Node& node = context_.artifact->artifact().graph.nodes[made->index];
    bias_factor = beta_of(node);
    const TensorPtr made_on_codes = bias_on_codes(*context_.artifact, *made, std::fabs(alpha_of(node)));
    if (made_on_codes != nullptr) on_codes = made_on_codes;
    declared_copy = declared_of(*made_weight->params, node, entry.node, slots.weight, weight->shape());
  }
  const QuantParams* declared = declared_copy ? &*declared_copy : nullptr;
  const Operand* made_bias = made != nullptr && made->inputs.size() > 2 ? &made->inputs[2] : nullptr;
  if (context_.evidence.converter.policy.weights == converters::WeightRounding::adapted && made_weight != nullptr) {
    // Learned rounding has no half-step rule: the declared weight stands for the original's, and the bias with it.
    const TensorPtr adapted =
        declared_values(*made_weight, context_.artifact->artifact().graph.nodes[made->index], entry.node, slots.weight);
    if (adapted != nullptr && adapted->shape() == weight->shape()) {
      constants.inputs[slots.weight] = exact_enclosure(adapted);
    }
    if (bias != nullptr && made_bias != nullptr && made_bias->quantized()) {
      if (const TensorPtr learned = corrected_bias(*made_bias, *bias, bias_factor); learned != nullptr) {
        constants.inputs[2] = exact_enclosure(learned);
      }
    }
    return;
  }
  const CodeSpan* span = data_span(index, slots.weight == 0 ? 1 : 0);
  const double input_scale = span == nullptr ? 0 : span->step, least_scale = span == nullptr ? 0 : span->least_step;
  const std::int64_t axis = lost || (declared == nullptr && slots.batched) ? -1 : slots.axis;
  const std::vector<double> radius =
      granted_.weight_radius(entry.original, *weight, axis, declared, on_codes.get(), least_scale);
  constants.inputs[slots.weight] = enclosure_around(weight, radius);
  if (context_.evidence.converter.policy.corrects_biases() && bias != nullptr && made_bias != nullptr) {
    if (const TensorPtr corrected = corrected_bias(*made_bias, *bias, bias_factor); corrected != nullptr) {
      constants.inputs[2] = exact_enclosure(corrected);
      return;
    }
  }
  const converters::Options& options = context_.evidence.options;
  const bool bias_quantized = made_bias != nullptr
                                  ? made_bias->quantized()
                                  : lost || (context_.artifact == nullptr && options.calibrates() &&
                                             !core::is_real(options.activation));  // float8's products sum in float
  if (bias == nullptr || !bias_quantized) {
    return;
  }
  if (context_.evidence.converter.policy.bias == converters::BiasRounding::own_scale) {
    const QuantParams* own = made_bias != nullptr && made_bias->params ? &*made_bias->params : nullptr;
    constants.inputs[2] = enclosure_around(bias, granted_.weight_radius(entry.original, *bias, -1, own, nullptr, 0));
    return;
  }
  // The bias is an int32 code of scale s_x·s_w; without an artifact the same is assumed.
  const std::vector<double> scales =
      granted_.weight_params(entry.original, *weight, axis, declared, on_codes.get(), least_scale).scale;
  std::vector<double> bias_radius(static_cast<std::size_t>(bias->size()));
  for (std::size_t j = 0; j < bias_radius.size(); ++j) {
    const double value = std::fabs(bias->as_real(static_cast<std::int64_t>(j)));
    // One value that serves every channel is a code of each one's scale.
    const bool serves_all = bias_radius.size() == 1;
    const double weight_step = serves_all ? std::ranges::max(scales) : scales[j % scales.size()];
    double step = input_scale * weight_step;
    if (made_weight != nullptr && made_bias != nullptr && made_bias->params) {
      const std::vector<double>& own = made_bias->params->scale;
      const std::vector<double>& weight_scale = made_weight->params->scale;
      const auto scale_in = [&](const std::vector<double>& list) {
        return serves_all ? std::ranges::max(list) : list[j % list.size()];
      };
      const double product = input_scale * scale_in(weight_scale) * (1 + 0x1p-22);
      step = std::max(step, std::min(scale_in(own), product) * std::fabs(bias_factor));
    }
    bias_radius[j] = value == 0 ? 0 : step / 2 + 0x1p-22 * value;
  }
  constants.inputs[2] = enclosure_around(bias, bias_radius);
}

std::vector<double> QuantizationPlan::real_bias_steps(std::size_t entry) const {
  const ArtifactNode* made = model_.operations[entry].made;
  if (made == nullptr || !made->integer() || made->inputs.size() <= kBias || made->inputs[kBias].quantized()) {
    return {};
  }
  const Node& node = context_.artifact->artifact().graph.nodes[made->index];
  const Operand& weight = made->inputs[1];
  const std::optional<QuantParams>& data = made->inputs[0].params;
  const auto slots = weight_slots(node, {{node.inputs[1], weight.constant_codes}});
  if (!slots || !data || data->scale.size() != 1 || !weight.params || weight.params->block != 0 ||
      weight.constant_codes == nullptr) {
    return {};
  }
  std::vector<double> steps = weight.params->scale;
  const std::int64_t axis = weight.params->axis.value_or(slots->axis);
  if (steps.size() > 1 && (axis < 0 ? axis + weight.constant_codes->rank() : axis) != slots->axis) {
    return {};
  }
  for (double& step : steps) {
    step *= data->scale[0] * std::fabs(node.float_or("alpha", 1));
  }
  return steps;
}

}  // namespace assay::judge
