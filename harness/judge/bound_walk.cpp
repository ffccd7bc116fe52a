#include "harness/judge/bound_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;
using model::Node;

/// The engine's own float32 arithmetic counts too: it is small, and not a quantization error.
constexpr Arithmetic kFloatArithmetic{.float_unit = kFloatUnit};

/// Operators that pass codes on: no rounding of their own, whatever the converter shares.
bool only_moves(const Node& node) {
  static const std::set<std::string, std::less<>> kMoves{
      "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Dropout", "MaxPool", "Slice",
      "Split",   "Gather",  "Expand",  "Shape",     "Constant",  "Cast",     "Tile",    "Size",    "ConstantOfShape"};
  return node.domain.empty() && kMoves.contains(node.op_type);
}

TensorPtr dequantized_constant(const Operand& operand) {
  if (operand.constant_codes == nullptr || !operand.params) {
    return nullptr;
  }
  const Style exact{.name = "constant", .arithmetic = {}};
  const auto value = dequantize_enclosure(exact_enclosure(operand.constant_codes), *operand.params, exact);
  return value ? value->centre : nullptr;
}

/// A constant within half a step of its own quantization.
Enclosure rounded_constant(const TensorPtr& constant, const QuantParams& params) {
  const auto index = ChannelIndex::make(constant->shape(), params);
  if (!index) {
    return exact_enclosure(constant);
  }
  std::vector<double> radius;
  const std::span<const double> values = constant->reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = index->channel(i);
    radius.push_back(
        rounding_radius(values[i], values[i], params.scale[channel], params.zero_point[channel], params.type));
  }
  return enclosure_around(constant, radius);
}

/// Weights like 0.25 everywhere are rounded alike: their errors add up instead of averaging out.
bool enough_unlike_values(const Tensor& weight, std::int64_t axis) {
  constexpr std::size_t kLeast = 8;
  std::size_t inner = 1;
  const std::size_t along = static_cast<std::size_t>(std::max<std::int64_t>(axis, 0));
  for (std::size_t i = along + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const std::size_t channels = axis < 0 ? 1 : static_cast<std::size_t>(weight.shape()[along]);
  std::vector<std::set<double>> unlike(channels);
  std::vector<std::size_t> used(channels, 0);
  const std::span<const double> values = weight.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      const std::size_t channel = i / inner % channels;
      unlike[channel].insert(std::fabs(values[i]));
      ++used[channel];
    }
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (unlike[c].size() < kLeast || 2 * unlike[c].size() < used[c]) {
      return false;
    }
  }
  return true;
}

}  // namespace

QuantizationPlan::QuantizationPlan(const LayerContext& context)
    : context_(context),
      model_(effective_model(*context.evidence.model, context.artifact, context.evidence.converter.policy.folds_bn)),
      granted_(context) {
  if (context_.artifact != nullptr) {
    collect_artifact_roundings();
  } else {
    assume_roundings();
  }
  constants_.resize(model_.entries.size());
  for (std::size_t i = 0; i < model_.entries.size(); ++i) {
    collect_constants(i);
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
    const std::string tensor = after_removed_activation(quantizer.original);
    roundings_[tensor].push_back({granted_.activation(tensor, quantizer.params), quantizer.codes, quantizer.chained});
  }
}

/// The original is quantized there already, with these very parameters: not a choice of the converter's.
bool QuantizationPlan::is_given(const Quantizer& quantizer) const {
  const auto& nodes = context_.evidence.model->graph.nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (node.op_type != "QuantizeLinear") {
      return false;
    }
    const auto params = read_quant_params(node, model_.constants);
    return params && std::equal(params->scale.begin(), params->scale.end(), quantizer.params.scale.begin(),
                                quantizer.params.scale.end(), [](double a, double b) {
                                  return static_cast<float>(a) == static_cast<float>(b);  // as a file holds them
                                });
  });
}

/// A Relu or Clip that is gone from the artifact lives on in the clamping of the quantizer before it.
std::string QuantizationPlan::after_removed_activation(std::string tensor) const {
  const model::Graph& graph = context_.evidence.model->graph;
  const model::Wiring wiring(graph);
  while (!wiring.is_output(tensor) && wiring.consumers(tensor).size() == 1) {
    const std::size_t reader = wiring.consumers(tensor)[0];
    const Node& node = graph.nodes[reader];
    const bool cuts = node.op_type == "Relu" || node.op_type == "Clip";
    if (!cuts || node.input(0) != tensor || context_.artifact->find_original(reader) != nullptr) {
      break;
    }
    tensor = node.outputs.front();
  }
  return tensor;
}

bool QuantizationPlan::runs_in_float(const EffectiveModel::Entry& entry) const {
  const Node& node = context_.evidence.model->graph.nodes[entry.original];
  const auto& map = context_.evidence.conversion.precision;
  const auto found = std::find_if(map.begin(), map.end(), [&](const auto& p) { return p.node == node.name; });
  return found != map.end() && found->got != "int8";
}

/// Without an artifact every real tensor that is not merely moved may be rounded, with the audited parameters or, where
/// the converter reports its scales and they are legal, those.
void QuantizationPlan::assume_roundings() {
  const auto assume = [&](const std::string& tensor) {
    const QuantParams* audited = granted_.audited(tensor);
    if (audited == nullptr) {
      return;
    }
    const auto& told = context_.evidence.conversion.tensors;
    const auto found = std::find_if(told.begin(), told.end(), [&](const auto& t) { return t.name == tensor; });
    const bool usable = found != told.end() && found->params.scale.size() == 1 && found->params.zero_point.size() == 1;
    roundings_[tensor].push_back({usable ? granted_.activation(tensor, found->params) : *audited, "", false});
  };
  for (const model::ValueInfo& input : context_.evidence.model->graph.inputs) {
    assume(input.name);
  }
  for (const EffectiveModel::Entry& entry : model_.entries) {
    for (const std::string& output : entry.node.outputs) {
      if (!output.empty() && !only_moves(entry.node)) {
        assume(output);
      }
    }
  }
}

std::string QuantizationPlan::codes_read(std::size_t entry, std::size_t index) const {
  if (context_.artifact == nullptr) {
    return "";
  }
  const ArtifactNode* made = context_.artifact->find_original(model_.entries[entry].original);
  if (made == nullptr || index >= made->inputs.size() || !made->inputs[index].quantized()) {
    return "";
  }
  return made->inputs[index].codes;
}

void QuantizationPlan::collect_constants(std::size_t index) {
  const EffectiveModel::Entry& entry = model_.entries[index];
  const ArtifactNode* made = context_.artifact == nullptr ? nullptr : context_.artifact->find_original(entry.original);
  const bool may_quantize = made != nullptr || (context_.artifact == nullptr && !runs_in_float(entry));
  for (std::size_t i = 0; i < entry.node.inputs.size(); ++i) {
    const auto found = model_.constants.find(entry.node.inputs[i]);
    if (found == model_.constants.end()) {
      continue;
    }
    Enclosure value = exact_enclosure(found->second);
    // A constant operand of Add, Concat … : half a step of its own quantization.
    const bool real = found->second->is_real();
    if (real && made != nullptr && i < made->inputs.size() && made->inputs[i].params) {
      value = rounded_constant(found->second, *made->inputs[i].params);
    } else if (real && may_quantize && context_.artifact == nullptr && !only_moves(entry.node) &&
               i < data_input_count(entry.node.op_type, entry.node.inputs.size()) && found->second->size() > 0) {
      // Data alone: the scales of a Resize or the statistics of a BatchNormalization are nothing to quantize.
      double low = 0, high = 0;
      for (const double v : found->second->reals()) {
        low = std::min(low, v);
        high = std::max(high, v);
      }
      const double scale = std::max(high - low, 2 * std::max(high, -low)) / 254;
      value = enclosure_around(found->second,
                               std::vector<double>(static_cast<std::size_t>(found->second->size()), scale / 2));
    }
    constants_[index].inputs[i] = std::move(value);
  }
  grant_split_bias(index, made);
  if (const auto slots = weight_slots(entry.node, model_.constants)) {
    grant_weight(index, *slots, may_quantize ? made : nullptr);
  }
}

/// MatMul and an Add of a constant that became one operator: the constant is an int32 bias now, of scale s_x·s_w.
void QuantizationPlan::grant_split_bias(std::size_t index, const ArtifactNode* made) {
  const Node& node = model_.entries[index].node;
  if (node.op_type != "Add" || made != nullptr || context_.artifact == nullptr || index == 0) {
    return;
  }
  for (std::size_t before = 0; before < index; ++before) {
    const Node& product = model_.entries[before].node;
    const auto slots = weight_slots(product, model_.constants);
    const auto reads = std::find(node.inputs.begin(), node.inputs.end(), product.outputs.front());
    const ArtifactNode* product_made = context_.artifact->find_original(model_.entries[before].original);
    if (!slots || reads == node.inputs.end()) {
      continue;
    }
    const auto& data = roundings(product.inputs[slots->weight == 0 ? 1 : 0]);
    const bool found = product_made != nullptr && slots->weight < product_made->inputs.size();
    const QuantParams* declared =
        found && product_made->inputs[slots->weight].params ? &*product_made->inputs[slots->weight].params : nullptr;
    if (found && declared == nullptr) {
      continue;  // it runs in float
    }
    const TensorPtr weight = model_.constants.find(product.inputs[slots->weight])->second;
    const std::vector<double> scales = granted_.weight_scales(*weight, found ? slots->axis : -1, declared, nullptr, 0);
    const double step =
        data.empty() ? 0 : data.front().params.scale[0] * *std::max_element(scales.begin(), scales.end());
    for (auto& [k, value] : constants_[index].inputs) {
      if (value.centre->is_real()) {
        value = enclosure_around(value.centre,
                                 std::vector<double>(static_cast<std::size_t>(value.centre->size()), step / 2));
      }
    }
  }
}

void QuantizationPlan::grant_weight(std::size_t index, const WeightSlots& slots, const ArtifactNode* made) {
  const EffectiveModel::Entry& entry = model_.entries[index];
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
  const bool in_float = !lost && (context_.artifact != nullptr ? unquantized : runs_in_float(entry));
  if (in_float || !weight->is_real()) {
    return;
  }
  constants.independent = enough_unlike_values(*weight, slots.axis);
  std::optional<QuantParams> declared_copy;
  double beta = 1;
  if (made_weight != nullptr) {
    // Gemm's factors may stay in the artifact's node: then its weight is a smaller or larger one than the effective.
    declared_copy = made_weight->params;
    const Node& node = context_.artifact->artifact().graph.nodes[made->index];
    const double alpha = node.op_type == "Gemm" ? std::fabs(node.float_or("alpha", 1)) : 1;
    beta = node.op_type == "Gemm" ? std::fabs(node.float_or("beta", 1)) : 1;
    for (double& scale : declared_copy->scale) {
      scale *= alpha;
    }
  }
  const QuantParams* declared = declared_copy ? &*declared_copy : nullptr;
  const Operand* made_bias = made != nullptr && made->inputs.size() > 2 ? &made->inputs[2] : nullptr;
  if (context_.evidence.converter.policy.weights == "adapted" && made_weight != nullptr) {
    // Learned rounding has no half-step rule: the declared weight stands for the original's, and the bias with it.
    const TensorPtr adapted = dequantized_constant(*made_weight);
    if (adapted != nullptr && adapted->shape() == weight->shape()) {
      constants.inputs[slots.weight] = exact_enclosure(adapted);
    }
    const TensorPtr corrected = made_bias == nullptr ? nullptr : dequantized_constant(*made_bias);
    if (bias != nullptr && corrected != nullptr && corrected->shape() == bias->shape()) {
      constants.inputs[2] = exact_enclosure(corrected);
    }
    return;
  }
  const std::size_t data = slots.weight == 0 ? 1 : 0;
  const std::vector<Rounding>& data_roundings = roundings(entry.node.inputs[data]);
  const double input_scale = data_roundings.empty() ? 0 : data_roundings.front().params.scale.front();
  const std::int64_t axis = lost ? -1 : slots.axis;
  std::vector<double> radius = granted_.weight_radius(*weight, axis, declared, bias.get(), input_scale);
  if (!entry.gains.empty()) {
    // Whether the weight was quantized before or after folding is not known: then its error was gained with it.
    const Node& plain = context_.evidence.model->graph.nodes[entry.original];
    const auto unfolded = model_.constants.find(plain.inputs[slots.weight]);
    if (unfolded != model_.constants.end()) {
      const std::vector<double> before = granted_.weight_radius(*unfolded->second, slots.axis, nullptr, nullptr, 0);
      const std::span<const double> w = weight->reals();
      const std::span<const double> u = unfolded->second->reals();
      for (std::size_t i = 0; i < radius.size(); ++i) {
        const double gain = u[i] == 0 ? 0 : std::fabs(w[i] / u[i]);
        radius[i] = std::max(radius[i], before[i] * gain);
      }
    }
  }
  constants.inputs[slots.weight] = enclosure_around(weight, radius);
  const bool bias_quantized = made_bias != nullptr ? made_bias->quantized() : lost || context_.artifact == nullptr;
  if (bias == nullptr || !bias_quantized) {
    return;
  }
  // The bias is an int32 code of scale s_x·s_w; without an artifact the same is assumed.
  const std::vector<double> scales = granted_.weight_scales(*weight, axis, declared, bias.get(), input_scale);
  std::vector<double> bias_radius(static_cast<std::size_t>(bias->size()));
  for (std::size_t j = 0; j < bias_radius.size(); ++j) {
    const double value = std::fabs(bias->as_real(static_cast<std::int64_t>(j)));
    double step = input_scale * scales[j % scales.size()];
    if (made_weight != nullptr && made_bias != nullptr && made_bias->params) {
      const std::vector<double>& own = made_bias->params->scale;
      const std::vector<double>& weight_scale = made_weight->params->scale;
      const double product = input_scale * weight_scale[j % weight_scale.size()] * (1 + 0x1p-22);
      step = std::max(step, std::min(own[j % own.size()], product) * beta);
    }
    bias_radius[j] = value == 0 ? 0 : step / 2 + 0x1p-22 * value;
  }
  constants.inputs[2] = enclosure_around(bias, bias_radius);
}

BoundWalk::BoundWalk(const QuantizationPlan& plan, const core::TensorMap& inputs, Known known, bool rounds_twice)
    : plan_(plan), inputs_(inputs), known_(std::move(known)), rounds_twice_(rounds_twice) {}

const Enclosure* BoundWalk::find(const std::string& tensor) const {
  const auto found = values_.find(tensor);
  return found == values_.end() ? nullptr : &found->second;
}

void BoundWalk::run(const OnTensor& on_tensor) {
  const EffectiveModel& model = plan_.model();
  for (const auto& [name, tensor] : inputs_) {
    on_tensor(nullptr, name, values_[name] = exact_enclosure({TensorPtr(), &tensor}));
  }
  std::vector<const Node*> nodes;
  for (const EffectiveModel::Entry& entry : model.entries) {
    nodes.push_back(&entry.node);
  }
  const std::vector<std::vector<std::string>> last_reads = last_readers(nodes, {});
  for (std::size_t i = 0; i < model.entries.size(); ++i) {
    const Node& node = model.entries[i].node;
    std::vector<Enclosure> storage;
    storage.reserve(node.inputs.size());
    std::vector<const Enclosure*> inputs;
    bool complete = model::captured_names(node).empty();
    for (std::size_t k = 0; k < node.inputs.size() && complete; ++k) {
      const auto constant = plan_.constants(i).inputs.find(k);
      if (node.inputs[k].empty()) {
        inputs.push_back(nullptr);
      } else if (constant != plan_.constants(i).inputs.end()) {
        inputs.push_back(&constant->second);
      } else if (const Enclosure* value = find(node.inputs[k]); value != nullptr) {
        storage.push_back(operand(i, k, node.inputs[k], *value));
        inputs.push_back(&storage.back());
      } else {
        complete = false;
      }
    }
    if (!complete) {
      continue;
    }
    core::Result<std::vector<Enclosure>> outputs = enclose(node, inputs);
    if (!outputs) {
      if (note_.empty()) {
        note_ = fmt::format("node \"{}\" ({}): {}", node.name, node.op_type, outputs.error().message);
      }
      continue;
    }
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs->size(); ++k) {
      on_tensor(&model.entries[i], node.outputs[k], values_[node.outputs[k]] = std::move((*outputs)[k]));
    }
    for (const std::string& name : last_reads[i]) {
      values_.erase(name);
    }
  }
}

/// A QuantizeLinear or DequantizeLinear of an original that is quantized already keeps its own parameters.
core::Result<std::vector<Enclosure>> BoundWalk::enclose(const Node& node,
                                                        std::span<const Enclosure* const> inputs) const {
  static const Style kFloatStyle{.name = "original",
                                 .ties = Ties::either,
                                 .input = InputDivision::any,
                                 .arithmetic = kFloatArithmetic,
                                 .dequantize_error = kFloatUnit,
                                 .divide_error = kFloatUnit};
  const EffectiveModel& model = plan_.model();
  const bool quantizes = node.op_type == "QuantizeLinear";
  if (!quantizes && node.op_type != "DequantizeLinear") {
    return enclose_node(node, model.opset(node.domain), inputs, kFloatArithmetic);
  }
  const auto params = read_quant_params(node, model.constants);
  if (!params) {
    return params.error();
  }
  if (quantizes && rounds_twice_ && params->scale.size() == 1) {
    std::vector<double> radius = radius_of(*inputs[0]);
    for (double& r : radius) {
      r += params->scale[0] / 4;
    }
    const core::Result<Enclosure> widened =
        quantize_enclosure(enclosure_around(inputs[0]->centre, radius), *params, kFloatStyle, false);
    return widened ? core::Result<std::vector<Enclosure>>(std::vector<Enclosure>{*widened}) : widened.error();
  }
  const core::Result<Enclosure> value = quantizes ? quantize_enclosure(*inputs[0], *params, kFloatStyle, true)
                                                  : dequantize_enclosure(*inputs[0], *params, kFloatStyle);
  if (!value) {
    return value.error();
  }
  return std::vector<Enclosure>{*value};
}

std::vector<double> BoundWalk::limit(const Enclosure& tensor, const QuantizationPlan::Rounding* rounding) const {
  std::vector<double> limits = radius_of(tensor);
  if (rounding == nullptr || rounding->params.scale.size() != 1) {
    return limits;
  }
  const double scale = rounding->params.scale[0];
  const std::int64_t zero_point = rounding->params.zero_point[0];
  const std::span<const double> low = tensor.low_or_centre().reals();
  const std::span<const double> high = tensor.high_or_centre().reals();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    limits[i] += rounding_radius(low[i], high[i], scale, zero_point, rounding->params.type);
    limits[i] += rounds_twice_ ? scale / 4 : 0;
  }
  return limits;
}

/// The tensor before and after any of its quantizations: end to end, who reads which is not asked.
Enclosure BoundWalk::rounded(const std::string& tensor, const Enclosure& value) const {
  const std::vector<QuantizationPlan::Rounding>& roundings = plan_.roundings(tensor);
  if (roundings.empty() || !value.centre->is_real()) {
    return value;
  }
  const std::vector<double> own = radius_of(value);
  std::vector<double> once(own), chained(own.size(), 0.0);
  for (const QuantizationPlan::Rounding& rounding : roundings) {
    const std::vector<double> limits = limit(value, &rounding);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (rounding.chained) {
        chained[i] += limits[i] - own[i];
      } else {
        once[i] = std::max(once[i], limits[i]);
      }
    }
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    once[i] += chained[i];
  }
  return enclosure_around(value.centre, once);
}

Enclosure BoundWalk::operand(std::size_t entry, std::size_t index, const std::string& tensor,
                             const Enclosure& value) const {
  if (plan_.model().entries[entry].node.op_type == "QuantizeLinear") {
    return value;  // the artifact's quantizer stands for this very node
  }
  if (!known_) {
    return rounded(tensor, value);
  }
  const std::string codes = plan_.codes_read(entry, index);
  Enclosure hull = value;
  for (const QuantizationPlan::Rounding& rounding : plan_.roundings(tensor)) {
    const TensorPtr known = value.centre->is_real() ? known_(rounding.codes) : nullptr;
    if (known == nullptr) {
      continue;
    }
    if (known->shape() != value.centre->shape()) {
      // It was rounded before an operator (a Pad, say) that the converter fused into this one.
      hull = enclosure_around(hull.centre, limit(hull, &rounding));
      continue;
    }
    if (rounding.codes == codes) {
      return exact_enclosure(known);
    }
    // Read directly, or through an operator that the converter removed: somewhere between before and after.
    Tensor low = hull.low_or_centre();
    Tensor high = hull.high_or_centre();
    const std::span<const double> actual = known->reals();
    for (std::size_t i = 0; i < actual.size(); ++i) {
      low.reals()[i] = std::min(low.reals()[i], actual[i]);
      high.reals()[i] = std::max(high.reals()[i], actual[i]);
    }
    hull.low = std::make_shared<const Tensor>(std::move(low));
    hull.high = std::make_shared<const Tensor>(std::move(high));
  }
  return hull;
}

}  // namespace assay::judge
