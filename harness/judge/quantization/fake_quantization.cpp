#include "harness/judge/quantization/fake_quantization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/float_format.hpp"
#include "harness/core/rng.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/normalization_limits.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"
#include "reference/quant.hpp"
#include "reference/quant_layout.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;
using model::Node;

/// Nearest codes of `values`, as real values; null where the parameters don't fit the shape.
TensorPtr nearest(const TensorPtr& values, const QuantParams& params) {
  const auto channels = ChannelIndex::make(values->shape(), params);
  if (!channels || !values->is_real()) return nullptr;
  Tensor result = *values;
  const std::span<double> out = result.reals();
  std::vector<std::int64_t> codes(out.size());
  channels->for_each_run(out.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const double scale = params.scale[channel];
    if (std::isnan(scale) || scale == 0) return;
    if (core::is_real(params.type)) {
      for (std::size_t i = first; i < first + length; ++i)
        out[i] = core::nearest_code(out[i] / scale, params.type) * scale;
      return;
    }
    const std::int64_t zero_point = params.zero_point.empty() ? 0 : params.zero_point[channel];
    const std::span<std::int64_t> run = std::span(codes).subspan(first, length);
    reference::quantize(out.subspan(first, length), scale, zero_point, params.type, run);
    for (std::size_t i = first; i < first + length; ++i) {
      if (std::isnan(out[i])) continue;
      // Means of two codes lie at ties, from which float64's own rounding must not move them.
      const double steps = out[i] / scale, middle = std::floor(steps) + 0.5;
      const bool tie = std::fabs(steps - middle) <= 0x1p-40 * std::fabs(middle);
      const std::int64_t code = tie ? reference::quantize(middle, 1, zero_point, params.type) : codes[i];
      out[i] = reference::dequantize(code, scale, zero_point);
    }
  });
  return std::make_shared<const Tensor>(std::move(result));
}

TensorPtr brought_within(const Tensor& values, const std::vector<Interval>& limits) {
  Tensor result = values;
  for (std::size_t i = 0; i < limits.size(); ++i)
    result.reals()[i] = std::clamp(result.reals()[i], limits[i].low, limits[i].high);
  return std::make_shared<const Tensor>(std::move(result));
}

/// `codes` with the artifact's own where both are as near: a scale in float32 leaves open to which side a tie falls.
TensorPtr with_ties_of(const TensorPtr& own, const TensorPtr& weight, const QuantParams& params,
                       const TensorPtr& codes) {
  const auto channels = ChannelIndex::make(weight->shape(), params);
  if (own == nullptr || own->shape() != weight->shape() || !channels) return codes;
  Tensor result = *codes;
  for (std::size_t i = 0; i < result.reals().size(); ++i) {
    const double value = weight->reals()[i];
    const double scale = std::fabs(params.scale[channels->channel(i)]);
    const double half = (scale > 0 ? scale * core::half_gap(value / scale, params.type) : 0) +
                        0x1p-22 * std::fabs(value);  // as audited
    if (std::fabs(own->reals()[i] - value) <= half) result.reals()[i] = own->reals()[i];
  }
  return std::make_shared<const Tensor>(std::move(result));
}

/// A bias on its int32 codes of scale s_x·s_w, which the output channels share in turn; one value that serves every
/// channel has a code for each.
TensorPtr nearest_bias(const Tensor& bias, double input_scale, const std::vector<double>& weight_scales) {
  const auto channels = static_cast<std::int64_t>(weight_scales.size());
  Tensor result = bias.size() == 1 && channels > 1
                      ? Tensor(bias.type(), {channels}, std::vector<double>(weight_scales.size(), bias.as_real(0)))
                      : bias;
  const std::span<double> out = result.reals();
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double step = input_scale * weight_scales[j % weight_scales.size()];
    if (step > 0) out[j] = reference::dequantize(reference::quantize(out[j], step, 0, core::DType::int32), step, 0);
  }
  return std::make_shared<const Tensor>(std::move(result));
}

/// `steps` of a scale, made of integers of `factor` such steps each by a multiplication that rounds to 2⁻ᵏ steps and a
/// shift by k bits.
double twice(double steps, double factor) {
  int exponent = 0;
  std::frexp(factor, &exponent);
  return std::round(exponent < 0 ? std::ldexp(std::round(std::ldexp(steps, -exponent)), exponent) : steps);
}

}  // namespace

FakeQuantization::FakeQuantization(const LayerContext& context, const QuantizationPlan& plan, Supposed supposed)
    : context_(context),
      plan_(plan),
      supposed_(std::move(supposed)),
      granted_(context),
      wiring_(context.evidence.model->graph) {
  given_ = std::ranges::any_of(context_.evidence.model->graph.nodes,
                               [](const Node& node) { return node.op_type == "QuantizeLinear"; });
  find_unmodelled();
  context_.artifact == nullptr ? assume_roundings() : collect_roundings();
  constants_.resize(plan_.alignment().operations.size());
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    quantize_constants(i);
  }
}

bool FakeQuantization::is_settled() const {
  if (!unmodelled_.empty() || noisiest_ || context_.artifact != nullptr) return false;
  if (given_) return true;
  if (!lists_scales(context_.evidence)) return false;
  // Whether a node in float reads a reported value before or behind its quantizer is not said, nor whether one reads it
  // so for a parameter, whose codes are there for another reader.
  const auto& operations = plan_.alignment().operations;
  for (std::size_t entry = 0; entry < operations.size(); ++entry) {
    const Node& node = operations[entry].node;
    const bool in_float = runs_in_float(entry);
    for (std::size_t i = in_float ? 0 : data_input_count(node); i < node.inputs.size(); ++i) {
      const std::string& source = plan_.rounded_source(entry, i);
      if (!roundings(source).empty() && (in_float || is_read_in_int8(source))) return false;
    }
  }
  return true;
}

TensorPtr FakeQuantization::weight(std::size_t entry) const {
  const auto found = weights_.find(entry);
  return found == weights_.end() ? nullptr : found->second;
}

void FakeQuantization::find_unmodelled() {
  const Evidence& evidence = context_.evidence;
  const converters::Policy& policy = evidence.converter.policy;
  const auto say = [&](std::string reason) {
    if (unmodelled_.empty()) unmodelled_ = std::move(reason);
  };
  if (policy.weights != converters::WeightRounding::nearest)
    say(fmt::format("the policy's weights are \"{}\"", core::word_of(policy.weights)));
  if (policy.bias != converters::BiasRounding::nearest && policy.bias != converters::BiasRounding::stays_float)
    say(fmt::format("the policy's bias is \"{}\"", core::word_of(policy.bias)));
  if (policy.arithmetic == converters::EngineArithmetic::unknown) say("the policy doesn't say how its engine computes");
  if (context_.artifact != nullptr) {
    if (plan_.has_inner_roundings()) say("the artifact rounds tensors that the original does not have");
    return;
  }
  if (!policy.folds_bn || !policy.fusions || !policy.shares) say("the policy leaves out folds_bn, fusions or shares");
  for (const Alignment::Operation& entry : plan_.alignment().operations) {
    // The weight's scales come from what is folded, and no reported activation tells. Of what lies directly behind it,
    // and of groups, both are tried (ways.hpp), but not where weights alone leave noise: too little to tell them by.
    const bool tried = has_calibrated_ranges(evidence);
    if (!tried && weight_layout(entry.node, 0).groups > 1) {
      say(fmt::format("node \"{}\" shares weight scales between its groups in a way that nothing shows",
                      entry.node.name));
    }
    if (entry.maybe_folded && (entry.behind_addends || !tried)) {
      say(fmt::format("the BatchNormalization behind node \"{}\" ({}) may be folded into it", entry.node.name,
                      entry.node.op_type));
    }
    // Beside fine steps of a weight its bias decides their size.
    const bool fine = !core::is_real(evidence.options.weight) && core::element_size_bits(evidence.options.weight) > 8;
    if (fine && !plan_.alignment().folded_further(entry).empty()) {
      say(fmt::format(
          "whether the constant that is added behind node \"{}\" is in its bias decides its weight's scales",
          entry.node.name));
    }
    // Of W the largest positive weights lie beyond the last code, of -2·W the largest negative ones.
    if (policy.divisor > 127 && alpha_of(evidence.model->graph.nodes[entry.original]) < 0) {
      say(fmt::format("whether the negative alpha of node \"{}\" is in its weights decides which of them are cut off",
                      entry.node.name));
    }
  }
  // The largest weight of each channel lies between two codes: the last places of scale and weight decide.
  constexpr double kHalf = 0.5;
  noisiest_ = evidence.options.calibrates() && policy.divisor - std::floor(policy.divisor) == kHalf;
  if (lists_scales(evidence)) {
    const std::string unknown = listed_without_tensor();
    if (!unknown.empty())
      say(fmt::format("a scale of \"{}\" is reported, which the model doesn't have: what it rounds isn't known",
                      unknown));
    return;
  }
  const bool open = context_.open_ranges.has_value();
  if (evidence.options.method != converters::Method::minmax && !open) say("the scales of this method are not reported");
  if ((policy.averaging != converters::Averaging::none && !open) || policy.power_of_two || policy.has_floor())
    say("the policy bends its scales");
  const auto& operations = plan_.alignment().operations;
  noisiest_ =
      noisiest_ || open || std::ranges::any_of(operations, [&](const auto& entry) { return may_be_less_noisy(entry); });
  const auto maybe_folded = std::ranges::find_if(operations, [&](const auto& entry) { return follows_product(entry); });
  if (maybe_folded != operations.end() && !evidence.options.per_axis) {
    say(fmt::format("node \"{}\" ({}) may be folded into the one before it, with one scale for all channels",
                    maybe_folded->node.name, maybe_folded->node.op_type));
  }
}

/// A tensor of the converter's own, between operators that one of the original's became.
std::string FakeQuantization::listed_without_tensor() const {
  const model::Graph& graph = context_.evidence.model->graph;
  for (const auto& told : context_.evidence.conversion.tensors) {
    const bool known = wiring_.producer(told.name) || graph.find_input(told.name) != nullptr ||
                       graph.initializer(told.name) != nullptr || plan_.alignment().constants.contains(told.name);
    if (!known && told.params.scale.size() == 1) return told.name;
  }
  return "";
}

/// Neither an artifact nor scales show how the node was converted, and no policy says it: it may run in float, and
/// values around it stay real, or it may be folded into the one before it, whose own output others read.
bool FakeQuantization::may_be_less_noisy(const Alignment::Operation& entry) const {
  const auto demand = demanded_precision(context_.evidence, entry.node);
  const bool settled = demand && is_float(demand->precision) && !supposed_.in_float.empty();
  return (demand && demand->precision != Precision::int8 && !settled) || follows_product(entry);
}

/// It normalizes by constants what a product with weights makes.
bool FakeQuantization::follows_product(const Alignment::Operation& entry) const {
  const auto producer = wiring_.producer(entry.node.input(0));
  return normalizes_by_constants(entry.node) && producer &&
         weight_slots(context_.evidence.model->graph.nodes[*producer], plan_.alignment().constants).has_value();
}

/// The artifact's quantizers under the tensors for which the plan has them: where a Relu or Clip was removed, its
/// output.
void FakeQuantization::collect_roundings() {
  const model::Graph& graph = context_.evidence.model->graph;
  for (const Quantizer& quantizer : context_.artifact->quantizers()) {
    if (quantizer.constant || quantizer.original.empty()) continue;
    std::string tensor = quantizer.original;
    const auto planned = [&] {
      const auto& all = plan_.roundings(tensor);
      return std::ranges::find(all, quantizer.codes, &QuantizationPlan::Rounding::codes) != all.end();
    };
    while (!planned() && wiring_.consumers(tensor).size() == 1) {
      const Node& reader = graph.nodes[wiring_.consumers(tensor).front()];
      if (reader.outputs.empty()) break;
      tensor = reader.outputs.front();
    }
    roundings_[tensor].push_back({granted_.activation(tensor, quantizer.params), quantizer.codes, quantizer.chained});
  }
}

/// Without an artifact: the reported scales say which tensors have one, besides what the model quantizes itself; where
/// none are reported, every tensor that a policy with these fusions and shares rounds.
void FakeQuantization::assume_roundings() {
  const Evidence& evidence = context_.evidence;
  const model::Graph& graph = evidence.model->graph;
  const auto quantizes = [&](std::size_t reader) { return graph.nodes[reader].op_type == "QuantizeLinear"; };
  std::set<std::string, std::less<>> told;
  for (const auto& tensor : evidence.conversion.tensors) {
    if (tensor.params.scale.size() != 1 || tensor.params.zero_point.size() != 1) continue;
    if (std::ranges::any_of(wiring_.consumers(tensor.name), quantizes)) continue;  // the model's own
    roundings_[tensor.name].push_back({granted_.activation(tensor.name, tensor.params), "", false});
    told.insert(tensor.name);
  }
  if (given_ || lists_scales(evidence)) return;
  const auto joins = supposed_.joined_scales ? joined() : std::map<std::string, std::string, std::less<>>();
  const auto& open = context_.open_ranges;
  const auto& params = !open ? context_.audited : supposed_.narrowest_ranges ? open->narrowest : open->widest;
  const auto assume = [&](const std::string& tensor) {
    const auto join = joins.find(tensor);
    const auto audited = params.find(join == joins.end() ? tensor : join->second);
    const bool real =
        (supposed_.stay_real.contains(tensor) && !is_read_in_int8(tensor)) || is_read_for_biases_alone(tensor);
    if (audited != params.end() && !told.contains(tensor) && !real)
      roundings_[tensor].push_back({audited->second, "", false});
  };
  for (const model::ValueInfo& input : graph.inputs) assume(input.name);
  for (std::size_t i = 0; i < plan_.alignment().operations.size(); ++i) {
    const Node& node = plan_.alignment().operations[i].node;
    const bool in_float = runs_in_float(i);
    for (const std::string& output : node.outputs) {
      if (in_float) {
        if (supposed_.rounds_around_float || is_read_in_int8(output)) assume(output);
      } else if (moves(node)) {
        roundings_[output] = roundings(node.inputs.front());
      } else if (const auto wide = covering(node)) {
        roundings_[output].push_back({*wide, "", false});
      } else if (!is_fused(node, output)) {
        assume(output);
      }
    }
  }
  std::erase_if(roundings_, [&](const auto& each) { return comes_real(each.first) && goes_out_unread(each.first); });
}

/// What is an output, or becomes one by moving alone, is supposed to be given out as computed. Not where the policy
/// rounds outputs: it does what nodes on codes make.
bool FakeQuantization::comes_real(const std::string& tensor) const {
  if (!supposed_.real_outputs) return false;
  if (context_.evidence.converter.policy.outputs != converters::GraphOutputs::quantized) return true;
  const auto& operations = plan_.alignment().operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (std::ranges::find(operations[i].node.outputs, tensor) != operations[i].node.outputs.end())
      return runs_in_float(i);
  }
  return false;
}

/// Of what goes into a join whose operands share scales, directly or moved, the join's result.
std::map<std::string, std::string, std::less<>> FakeQuantization::joined() const {
  std::map<std::string, std::string, std::less<>> joins;
  const auto& nodes = context_.evidence.model->graph.nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!moves(*node) || node->outputs.empty()) continue;
    const bool joins_operands = traits_of(*node).movement == Movement::joins;
    const auto behind = joins.find(node->outputs.front());
    if (!joins_operands && behind == joins.end()) continue;
    const std::string result = behind == joins.end() ? node->outputs.front() : behind->second;
    for (std::size_t i = 0; i < (joins_operands ? node->inputs.size() : 1); ++i) joins[node->inputs[i]] = result;
  }
  return joins;
}

/// Parameters of the join's result where it covers its operands' codes; nothing where that isn't supposed, or where
/// they reach no farther than it does itself.
std::optional<QuantParams> FakeQuantization::covering(const Node& join) const {
  if (!supposed_.covering_joins || traits_of(join).movement != Movement::joins || context_.ranges == nullptr)
    return std::nullopt;
  const auto own = context_.ranges->find(join.outputs.front());
  if (own == context_.ranges->end() || !own->second.finite) return std::nullopt;
  double low = own->second.low, high = own->second.high;
  for (const std::string& input : join.inputs) {
    std::string source = input;
    for (auto maker = wiring_.producer(source); maker; maker = wiring_.producer(source)) {
      const Node& node = context_.evidence.model->graph.nodes[*maker];
      if (!moves(node) || traits_of(node).movement == Movement::joins || node.inputs.empty()) break;
      source = node.inputs.front();
    }
    const auto range = context_.ranges->find(source);
    if (range == context_.ranges->end() || !range->second.finite) continue;
    low = std::min(low, range->second.low);
    high = std::max(high, range->second.high);
  }
  if (low == own->second.low && high == own->second.high) return std::nullopt;
  return derive_params(low, high, context_.evidence.options.activation, context_.evidence.options.symmetric,
                       context_.evidence.converter.policy.without_floor());
}

/// Nothing but nodes that only move reads the tensor, and what they make are outputs that nothing else reads.
bool FakeQuantization::goes_out_unread(const std::string& tensor) const {
  const auto& readers = wiring_.consumers(tensor);
  if (readers.empty()) return wiring_.is_output(tensor);
  return std::ranges::all_of(readers, [&](std::size_t reader) {
    const Node& node = context_.evidence.model->graph.nodes[reader];
    return only_moves(node) && std::ranges::all_of(node.outputs, [&](const std::string& output) {
             return output.empty() || goes_out_unread(output);
           });
  });
}

/// Operators that hand their input's codes on, with its scale.
bool FakeQuantization::moves(const Node& node) const {
  const auto& shares = context_.evidence.converter.policy.shares;
  if (traits_of(node).movement == Movement::copies) return true;
  if (supposed_.own_ranges && computes_by_attributes(node)) return false;
  return shares && std::ranges::find(*shares, model::operator_name(node)) != shares->end();
}

/// The tensor goes into one operator that the policy says it fuses into the tensor's maker: never rounded itself.
bool FakeQuantization::is_fused(const Node& maker, const std::string& tensor) const {
  const auto& fusions = context_.evidence.converter.policy.fusions;
  if (!fusions || wiring_.is_output(tensor) || wiring_.consumers(tensor).size() != 1) return false;
  const Node& reader = context_.evidence.model->graph.nodes[wiring_.consumers(tensor).front()];
  if (supposed_.rounds_around_float && asked_in_float(context_.evidence, reader)) return false;
  const bool constant = reader.op_type != "Add" || std::ranges::any_of(reader.inputs, [&](const std::string& input) {
                          return plan_.alignment().constants.contains(input);
                        });
  return constant && std::ranges::find(*fusions, model::operator_name(maker) + "+" + model::operator_name(reader)) !=
                         fusions->end();
}

const ArtifactNode* FakeQuantization::made_of(std::size_t entry) const {
  return plan_.alignment().operations[entry].made;
}

/// Some operation that runs on codes takes the tensor for its data.
bool FakeQuantization::is_read_in_int8(const std::string& tensor) const {
  const auto& operations = plan_.alignment().operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Node& node = operations[i].node;
    const auto data = node.inputs.begin() + static_cast<std::ptrdiff_t>(data_input_count(node));
    if (std::find(node.inputs.begin(), data, tensor) != data && !runs_in_float(i)) return true;
  }
  return false;
}

std::optional<CodeSpan> FakeQuantization::codes_of(const std::string& tensor) const {
  const std::vector<Rounding>& all = roundings(tensor);
  const auto is_the_first = [&](const Rounding& each) {
    return each.params.scale.size() == 1 && each.params.scale == all.front().params.scale;
  };
  if (all.empty() || !std::ranges::all_of(all, is_the_first) || !(all.front().params.scale.front() > 0))
    return std::nullopt;
  return CodeSpan::of(all.front().params, context_.evidence.converter.policy);
}

std::vector<std::string> FakeQuantization::optional_roundings() const {
  std::vector<std::string> tensors;
  if (lists_scales(context_.evidence)) return tensors;
  for (const auto& [tensor, all] : roundings_) {
    if (!all.empty() && !plan_.alignment().constants.contains(tensor) && !is_read_in_int8(tensor)) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

bool FakeQuantization::runs_in_float(std::size_t entry) const {
  if (!context_.evidence.options.calibrates()) return true;
  if (const auto known = supposed_.in_float.find(entry); known != supposed_.in_float.end()) return known->second;
  const Node& node = context_.evidence.model->graph.nodes[plan_.alignment().operations[entry].original];
  if (judge::runs_in_float(context_.evidence, node)) return true;
  return context_.artifact == nullptr && (has_no_int8_form(node) || stays_for_its_bias(node));
}

bool FakeQuantization::may_stay_for_its_bias(const Node& node) const {
  // Asked of every reader of every tensor: the kind of node tells most of them at once.
  return context_.artifact == nullptr && !given_ && has_matrix_bias(node, plan_.alignment().constants) &&
         reported_precision(context_.evidence, node.name) == nullptr;
}

bool FakeQuantization::stays_for_its_bias(const Node& node) const {
  return !supposed_.matrix_bias_on_codes && may_stay_for_its_bias(node);
}

/// Nothing else reads the tensor: such nodes take it as it is.
bool FakeQuantization::is_read_for_biases_alone(const std::string& tensor) const {
  const auto& readers = wiring_.consumers(tensor);
  return !readers.empty() && !wiring_.is_output(tensor) && std::ranges::all_of(readers, [&](std::size_t reader) {
    return stays_for_its_bias(context_.evidence.model->graph.nodes[reader]);
  });
}

/// Where no precision map tells: an operator that computes, of which the converter says that it has no INT8 form, alone
/// or as a part of another.
bool FakeQuantization::has_no_int8_form(const Node& node) const {
  const auto& forms = context_.evidence.converter.supports.int8_operators;
  const auto& policy = context_.evidence.converter.policy;
  const std::string op = model::operator_name(node);
  if (!forms || !context_.evidence.conversion.precision.empty() || given_ || stays_in_range(traits_of(node)))
    return false;
  const auto names = [&](const std::string& each) { return each == op; };
  const auto ends_with_it = [&](const std::string& fusion) { return fusion.ends_with("+" + op); };
  return std::ranges::none_of(*forms, names) &&
         !(policy.fusions && std::ranges::any_of(*policy.fusions, ends_with_it)) &&
         !(op == "BatchNormalization" && policy.folds_bn.value_or(true));
}

bool FakeQuantization::keeps_weight(std::size_t entry) const {
  if (const auto known = supposed_.in_float.find(entry); known != supposed_.in_float.end()) return known->second;
  const Alignment::Operation& made = plan_.alignment().operations[entry];
  const Node& node = context_.evidence.model->graph.nodes[made.original];
  return judge::keeps_weight(context_.evidence, node) ||
         (!context_.evidence.options.weights_only() && stays_for_its_bias(node));
}

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

bool FakeQuantization::leaves_bodies_open() const {
  if (context_.artifact != nullptr) return false;
  const auto& operations = plan_.alignment().operations;
  return std::ranges::any_of(operations, [&](const Alignment::Operation& entry) {
    return std::ranges::any_of(model::captured_names(entry.node),
                               [&](const std::string& name) { return !roundings(name).empty(); });
  });
}

bool FakeQuantization::leaves_matrix_biases_open() const {
  return std::ranges::any_of(context_.evidence.model->graph.nodes,
                             [&](const Node& node) { return may_stay_for_its_bias(node); });
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

void FakeQuantization::note_sums(std::size_t entry, std::vector<double> scales) {
  const Node& node = plan_.alignment().operations[entry].node;
  std::string tensor = node.outputs.front();
  while (roundings(tensor).empty() && !wiring_.is_output(tensor) && wiring_.consumers(tensor).size() == 1) {
    const Node& reader = context_.evidence.model->graph.nodes[wiring_.consumers(tensor).front()];
    if (reader.outputs.empty() || (traits_of(reader).clamp == Clamp::none && !is_fused_bias(reader))) break;
    tensor = reader.outputs.front();
  }
  sums_[tensor] = {std::move(scales), traits_of(node).product == Product::matmul ? -1 : 1};
}

/// The values of `tensor` as whole numbers of steps, where its sums' scales are known.
TensorPtr FakeQuantization::rounded_twice(const std::string& tensor, TensorPtr value, double scale) const {
  const auto found = sums_.find(tensor);
  if (found == sums_.end() || value->rank() == 0) return value;
  const std::int64_t axis = found->second.axis < 0 ? value->rank() - 1 : found->second.axis;
  if (axis >= value->rank()) return value;
  const auto [outer, extent, inner] = reference::split_at_axis(value->shape(), axis);
  Tensor result = *value;
  const std::vector<double>& sums = found->second.scales;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    double& element = result.reals()[reference::at(i)];
    const double sum = sums[reference::at(i / inner % extent) % sums.size()];
    if (sum > 0) element = twice(element / scale, sum / scale) * scale;
  }
  return std::make_shared<const Tensor>(std::move(result));
}

/// What a join reads on another scale than that of its result, as whole numbers of the result's steps.
TensorPtr FakeQuantization::joined_twice(const Node& join, std::size_t index, TensorPtr value) const {
  if (traits_of(join).movement != Movement::joins || join.outputs.empty() || !value->is_real()) return value;
  const auto from = codes_of(join.inputs[index]), to = codes_of(join.outputs.front());
  if (!from || !to || from->step == to->step) return value;
  Tensor result = *value;
  for (double& element : result.reals()) element = twice(element / to->step, from->step / to->step) * to->step;
  return std::make_shared<const Tensor>(std::move(result));
}

const std::vector<FakeQuantization::Rounding>& FakeQuantization::roundings(const std::string& tensor) const {
  static const std::vector<Rounding> kNone;
  const auto found = roundings_.find(tensor);
  return found == roundings_.end() ? kNone : found->second;
}

/// The tensor on the codes that are called `codes`; where there are none of that name, on its first ones.
TensorPtr FakeQuantization::rounded(const std::string& tensor, const std::string& codes) const {
  TensorPtr value = values_.find(tensor)->second;
  if (!value->is_real()) return value;
  if (const auto nudged = nudges_.find(tensor); nudged != nudges_.end()) {
    Tensor moved = *value;
    for (const auto& [element, offset] : nudged->second) moved.reals()[element] += offset;
    value = std::make_shared<const Tensor>(std::move(moved));
  }
  const std::vector<Rounding>& all = roundings(tensor);
  const auto named = std::ranges::find(all, codes, &Rounding::codes);
  const auto first = std::ranges::find(all, false, &Rounding::chained);
  const auto apply = [&](const Rounding& rounding) {
    if (supposed_.rounds_twice && rounding.params.scale.size() == 1 && !core::is_real(rounding.params.type))
      value = rounded_twice(tensor, std::move(value), rounding.params.scale.front());
    if (const TensorPtr next = nearest(value, rounding.params)) value = next;
  };
  const bool chained = named != all.end() && named->chained;
  if (first != all.end() && (named == all.end() || chained)) apply(*first);
  if (named != all.end()) apply(*named);
  return value;
}

TensorPtr FakeQuantization::operand(std::size_t entry, std::size_t index) const {
  TensorPtr read = static_operand(entry, index);
  if (supposed_.rounds_twice && read != nullptr)
    read = joined_twice(plan_.alignment().operations[entry].node, index, std::move(read));
  if (read == nullptr || !read->is_real() || !plan_.alignment().operations[entry].rounds_dynamically(index))
    return read;
  if (dynamic_draw_) {
    Tensor moved = *read;
    core::Rng rng(*dynamic_draw_, plan_.alignment().operations[entry].node.inputs[index]);
    const double most = dynamic_step(moved.reals(), plan_.rounds_around_zero()) / 2;
    for (double& value : moved.reals()) value += value == 0 ? 0 : rng.uniform(-most, most);
    read = std::make_shared<const Tensor>(std::move(moved));
  }
  return rounded_dynamically(read);
}

TensorPtr FakeQuantization::static_operand(std::size_t entry, std::size_t index) const {
  const Node& node = plan_.alignment().operations[entry].node;
  const std::string& tensor = node.inputs[index];
  const auto found = values_.find(tensor);
  if (found == values_.end()) return nullptr;
  if (node.op_type == "QuantizeLinear") return found->second;  // the artifact's quantizer is this very node
  const ArtifactNode* made = made_of(entry);
  if (made == nullptr) return rounded(tensor, "");
  if (index < made->inputs.size() && made->inputs[index].constant_codes != nullptr && found->second->is_real()) {
    return nearest(found->second, *made->inputs[index].params);  // the converter computed it, and quantized that
  }
  const std::string codes = plan_.alignment().codes_read(entry, index);
  const bool moved = index < made->inputs.size() && made->inputs[index].quantized();  // since its codes were made
  return codes.empty() && !moved ? found->second : rounded(tensor, codes);
}

/// A graph output is dequantized where the artifact's is, also in front of a Reshape of the converter's own, or as it
/// is.
TensorPtr FakeQuantization::value(const std::string& tensor) const {
  if (!values_.contains(tensor)) return nullptr;
  if (context_.artifact == nullptr || !wiring_.is_output(tensor)) return rounded(tensor, "");
  const model::Graph& graph = context_.artifact->artifact().graph;
  for (std::string made = tensor;;) {
    const auto maker = std::ranges::find_if(
        graph.nodes, [&](const Node& node) { return std::ranges::find(node.outputs, made) != node.outputs.end(); });
    if (maker == graph.nodes.end()) return rounded(tensor, "");
    made = maker->input(0);
    if (maker->op_type == "DequantizeLinear") return rounded(tensor, made);
    if (context_.artifact->original_tensor(made) != tensor) return values_.find(tensor)->second;
  }
}

TensorPtr FakeQuantization::shown(const std::string& output) const {
  const bool real =
      comes_real(output) || context_.evidence.converter.policy.outputs == converters::GraphOutputs::stay_float;
  return real && context_.artifact == nullptr && !given_ ? carried(output) : value(output);
}

TensorPtr FakeQuantization::carried(const std::string& tensor) const {
  const auto found = values_.find(tensor);
  return found == values_.end() ? nullptr : found->second;
}

/// What a subgraph sees of a tensor around it.
TensorPtr FakeQuantization::captured(const std::string& tensor) const {
  if (values_.contains(tensor)) return supposed_.bodies_read_real ? values_.at(tensor) : rounded(tensor, "");
  const auto constant = plan_.alignment().constants.find(tensor);
  return constant == plan_.alignment().constants.end() ? nullptr : constant->second;
}

core::Status FakeQuantization::run(const core::TensorMap& inputs) {
  values_.clear();
  for (const auto& [name, tensor] : inputs) {
    values_[name] = {TensorPtr(), &tensor};
  }
  for (std::size_t i = 0; i < plan_.alignment().operations.size(); ++i) {
    const Node& node = plan_.alignment().operations[i].node;
    std::vector<TensorPtr> held;
    std::vector<const Tensor*> operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto constant = constants_[i].find(k);
      held.push_back(node.inputs[k].empty() ? nullptr
                                            : (constant != constants_[i].end() ? constant->second : operand(i, k)));
      if (!node.inputs[k].empty() && held.back() == nullptr) {
        return core::Error{.kind = core::ErrorKind::unsupported,
                           .message = "a tensor that it reads isn't known",
                           .node = node.name,
                           .op = node.op_type,
                           .tensor = node.inputs[k]};
      }
      operands.push_back(held.back().get());
    }
    auto outputs = reference::execute_node(node, plan_.alignment().opset(node.domain), operands,
                                           [this](const std::string& name) { return captured(name); });
    if (!outputs) return outputs.error();
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs->size(); ++k) {
      values_[node.outputs[k]] = std::make_shared<const Tensor>(std::move((*outputs)[k]));
    }
  }
  return core::success();
}

}  // namespace assay::judge
