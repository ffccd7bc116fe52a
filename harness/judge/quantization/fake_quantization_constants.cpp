// The constants of a prediction: operands, weights and biases on their codes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/normalization_limits.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/nearest_codes.hpp"

namespace assay::judge {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;
using model::Node;

void FakeQuantization::quantize_constants(std::size_t entry) {
  const Node& node = plan_.alignment().operations[entry].node;
  const ArtifactNode* made = made_of(entry);
  const auto slots = weight_slots(node, plan_.alignment().constants);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto found = plan_.alignment().constants.find(node.inputs[i]);
    if (found == plan_.alignment().constants.end()) continue;
    TensorPtr value = found->second;
    const auto rounded = roundings_.find(node.inputs[i]);
    const bool is_rounded = rounded != roundings_.end() && !rounded->second.empty();
    if (value->is_real() && value->size() > 0 && !slots) {
      if (made != nullptr && i < made->inputs.size() && made->inputs[i].params) {
        if (const TensorPtr codes = nearest(value, *made->inputs[i].params)) {
          const auto limits =
              normalization_limits(node, i, plan_.alignment().constants, made->inputs[i], context_.evidence);
          value = limits ? brought_within(*codes, limits->elements) : codes;
        }
      } else if (context_.artifact == nullptr && is_rounded &&
                 (i < data_input_count(node) || !is_read_in_int8(node.inputs[i]))) {
        if (const TensorPtr codes = nearest(value, rounded->second.front().params)) value = codes;
      } else if (context_.artifact == nullptr && !given_ && i < data_input_count(node) && !runs_in_float(entry) &&
                 !is_fused_bias(node)) {
        constants_open_ = constants_open_ || !lists_constants(context_.evidence);
        value = nearest_constant(value);
      }
    }
    constants_[entry][i] = value;
  }
  if (slots) quantize_weight(entry, *slots, made);
  // What vanished from the artifact was folded into other constants, in a way that the effective model doesn't know.
  const OperatorTraits& traits = traits_of(node);
  const bool folds = slots || traits.normalization == Normalization::given_moments ||
                     traits.formula == Formula::product || traits.formula == Formula::difference ||
                     traits.formula == Formula::quotient;
  if (context_.artifact != nullptr && made == nullptr && folds && unmodelled_.empty()) {
    unmodelled_ = fmt::format("node \"{}\" ({}) isn't found in the artifact", node.name, node.op_type);
  }
}

/// An Add of a constant that became the bias of the product before it.
bool FakeQuantization::is_fused_bias(const Node& node) const {
  return node.op_type == "Add" && std::ranges::any_of(node.inputs, [&](const std::string& input) {
           const auto producer = wiring_.producer(input);
           return producer && is_fused(context_.evidence.model->graph.nodes[*producer], input);
         });
}

/// A constant operand of an operator on codes, with a range of its own.
TensorPtr FakeQuantization::nearest_constant(const TensorPtr& value) const {
  const ConstantForm form = supposed_.constants.value_or(usual_form_of_constants());
  if (form == ConstantForm::real) return value;
  const auto [low, high] = std::ranges::minmax(value->reals());
  const converters::Options& options = context_.evidence.options;
  return nearest(value,
                 derive_params(low, high, options.activation, options.symmetric || form == ConstantForm::as_weights,
                               context_.evidence.converter.policy));
}

ConstantForm FakeQuantization::usual_form_of_constants() const {
  return lists_scales(context_.evidence) ? ConstantForm::real : ConstantForm::as_activations;
}

void FakeQuantization::quantize_weight(std::size_t entry, const WeightSlots& slots, const ArtifactNode* made) {
  const Node& node = plan_.alignment().operations[entry].node;
  const TensorPtr weight = plan_.alignment().constants.find(node.inputs[slots.weight])->second;
  const Operand* operand =
      made != nullptr && slots.weight < made->inputs.size() ? &made->inputs[slots.weight] : nullptr;
  const std::size_t original = plan_.alignment().operations[entry].original;
  const bool in_float =
      context_.artifact != nullptr ? operand == nullptr || !operand->quantized() : keeps_weight(entry);
  if (!weight->is_real() || in_float || (given_ && context_.artifact == nullptr)) return;
  const double alpha =
      made == nullptr ? 1 : std::fabs(alpha_of(context_.artifact->artifact().graph.nodes[made->index]));
  std::optional<QuantParams> declared;
  if (operand != nullptr) {
    const Node& plain = context_.artifact->artifact().graph.nodes[made->index];
    declared = declared_of(*operand->params, plain, node, slots.weight, weight->shape());
    if (declared->scale.size() > 1 && declared->axis != slots.axis && declared->block == 0) {
      declared.reset();  // one along a wrong axis is no choice that a policy could state
    }
  }
  const bool has_bias = slots.has_bias_slot && !node.input(2).empty();
  const auto bias = has_bias ? plan_.alignment().constants.find(node.inputs[2]) : plan_.alignment().constants.end();
  const TensorPtr b = bias == plan_.alignment().constants.end() ? nullptr : bias->second;
  const std::size_t data = slots.weight == 0 ? 1 : 0;
  const Rounding* read = QuantizationPlan::read_by(roundings(plan_.rounded_source(entry, data)),
                                                   plan_.alignment().codes_read(entry, data));
  const double input_scale = read == nullptr ? 0 : read->params.scale.front();
  // Scales of a weight in batches lie along an axis only where that is said.
  const auto& tensors = context_.evidence.conversion.tensors;
  const auto told = std::ranges::find_if(tensors, [&](const auto& tensor) {
    return tensor.name == context_.evidence.model->graph.nodes[original].input(slots.weight) &&
           tensor.params.scale.size() > 1 && tensor.params.axis == slots.axis;
  });
  const bool matrices_open = !declared && slots.batched && told == tensors.end();
  matrices_open_ = matrices_open_ || (matrices_open && context_.evidence.options.per_axis && slots.axis >= 0 &&
                                      !lists_constants(context_.evidence));
  const std::int64_t axis = matrices_open && !supposed_.matrices_by_channel ? -1 : slots.axis;
  const TensorPtr made_on_codes = made == nullptr ? nullptr : bias_on_codes(*context_.artifact, *made, alpha);
  const bool real_bias =
      context_.artifact == nullptr && context_.evidence.converter.policy.bias == converters::BiasRounding::stays_float;
  const core::Tensor* on_codes = made_on_codes != nullptr ? made_on_codes.get() : real_bias ? nullptr : b.get();
  QuantParams params = declared ? granted_.weight_params(original, *weight, axis, &*declared, on_codes, input_scale)
                                : granted_.usual_weight_params(original, *weight, axis, on_codes, input_scale);
  // Of a depthwise weight, whose groups have a channel each, all share one scale or none.
  const bool by_channel = context_.evidence.options.per_axis && axis >= 0 && params.block == 0;
  if (TensorPtr codes = supposed_.own_groups && !declared && by_channel
                            ? nearest_by_group(entry, *weight, axis, on_codes, input_scale, params.scale)
                            : nearest(weight, params)) {
    const bool alike = operand != nullptr && alpha == 1 &&
                       reads_alike(context_.artifact->artifact().graph.nodes[made->index], node, slots.weight);
    if (alike) codes = with_ties_of(dequantized_constant(*operand), weight, params, codes);
    constants_[entry][slots.weight] = weights_[entry] = std::move(codes);
  }
  if (supposed_.rounds_twice && input_scale > 0 && params.block == 0) {
    std::vector<double> scales = params.scale;
    for (double& scale : scales) scale = std::fabs(scale) * input_scale;
    note_sums(entry, std::move(scales));
  }
  const Operand* made_bias = made != nullptr && made->inputs.size() > 2 ? &made->inputs[2] : nullptr;
  const bool bias_quantized = made_bias != nullptr
                                  ? made_bias->quantized()
                                  : context_.artifact == nullptr && !real_bias && !core::is_real(params.type);
  if (b != nullptr && bias_quantized && input_scale > 0) {
    std::vector<double> scales = params.scale;
    // Where all weights are zero any scale is right that isn't beyond the others', and the bias is rounded by it.
    if (told != tensors.end() && told->params.scale.size() == scales.size()) {
      const ChannelIndex index = ChannelIndex::of_layout(weight->shape(), params);
      std::vector<bool> zero(scales.size(), true);
      for (std::size_t i = 0; i < weight->reals().size(); ++i)
        if (weight->reals()[i] != 0) zero[index.channel(i)] = false;
      const double largest = std::ranges::max(params.scale);
      for (std::size_t c = 0; c < scales.size(); ++c)
        if (zero[c]) scales[c] = std::min(told->params.scale[c], largest);
    }
    constants_[entry][2] = nearest_bias(*b, input_scale, scales);
  }
}

/// The weight where each group has scales of its own, which become `scales`, in the order of the output channels. A
/// product whose groups lie along the scales' axis has them anyway.
TensorPtr FakeQuantization::nearest_by_group(std::size_t entry, const Tensor& weight, std::int64_t axis,
                                             const Tensor* bias, double input_scale,
                                             std::vector<double>& scales) const {
  const Alignment::Operation& operation = plan_.alignment().operations[entry];
  const auto groups = static_cast<std::size_t>(weight_layout(operation.node, weight.rank()).groups);
  const auto part_of = [](const Tensor& whole, std::size_t index, std::size_t parts) {
    core::Shape shape = whole.shape();
    shape.front() /= static_cast<std::int64_t>(parts);
    const std::size_t size = whole.reals().size() / parts;
    const auto values = whole.reals().subspan(index * size, size);
    return Tensor(whole.type(), shape, std::vector<double>(values.begin(), values.end()));
  };
  Tensor result = weight;
  std::vector<double> all;
  for (std::size_t group = 0; group < groups; ++group) {
    const auto part = std::make_shared<const Tensor>(part_of(weight, group, groups));
    // One value may serve all channels.
    const bool shared =
        bias != nullptr && (bias->rank() != 1 || bias->shape().front() % static_cast<std::int64_t>(groups) != 0);
    const std::optional<Tensor> part_bias = bias == nullptr ? std::nullopt
                                            : shared        ? std::optional(*bias)
                                                            : std::optional(part_of(*bias, group, groups));
    const QuantParams params =
        granted_.usual_weight_params(operation.original, *part, axis, part_bias ? &*part_bias : nullptr, input_scale);
    const TensorPtr codes = nearest(part, params);
    if (codes == nullptr) return nullptr;
    std::ranges::copy(codes->reals(),
                      result.reals().begin() + static_cast<std::ptrdiff_t>(group * codes->reals().size()));
    all.insert(all.end(), params.scale.begin(), params.scale.end());
  }
  scales = std::move(all);
  return std::make_shared<const Tensor>(std::move(result));
}

}  // namespace assay::judge
