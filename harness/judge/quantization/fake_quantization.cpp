#include "harness/judge/quantization/fake_quantization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/rng.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/quantization/nearest_codes.hpp"
#include "reference/executor.hpp"
#include "reference/quant_layout.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;
using model::Node;

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

const ArtifactNode* FakeQuantization::made_of(std::size_t entry) const {
  return plan_.alignment().operations[entry].made;
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
