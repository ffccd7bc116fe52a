#include "harness/judge/quantization/bound_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/enclosures/branches.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// The engine's own float32 arithmetic counts too: it is small, and not a quantization error.
constexpr Arithmetic kFloatArithmetic{.float_unit = kFloatUnit};

}  // namespace

BoundWalk::BoundWalk(const QuantizationPlan& plan, const core::TensorMap& inputs, Known known,
                     EngineRoundings roundings, const ErrorSources& sources)
    : plan_(plan), inputs_(inputs), known_(std::move(known)), engine_(roundings), sources_(sources) {}

std::optional<Enclosure> BoundWalk::rounded_bias(std::size_t entry, const std::vector<const Enclosure*>& inputs) const {
  if (!engine_.bias || !sources_.biases || inputs.size() <= kBias || inputs[kBias] == nullptr) {
    return std::nullopt;
  }
  const std::vector<double> steps = plan_.real_bias_steps(entry);
  if (steps.empty()) {
    return std::nullopt;
  }
  const Enclosure& bias = *inputs[kBias];
  std::vector<double> radius = radius_of(bias);
  const std::span<const double> values = bias.centre->reals();
  for (std::size_t j = 0; j < radius.size(); ++j) {
    radius[j] += values[j] == 0 ? 0 : steps[j % steps.size()] / 2 + 0x1p-22 * std::fabs(values[j]);
  }
  return enclosure_around(bias.centre, radius);
}

bool BoundWalk::counts_constant(std::size_t entry, std::size_t index) const {
  if (sources_.weights && sources_.biases && sources_.constants) {
    return true;
  }
  const auto slots = weight_slots(plan_.alignment().operations[entry].node, plan_.alignment().constants);
  if (slots && index == slots->weight) {
    return sources_.weights;
  }
  return slots && slots->has_bias_slot && index == kBias ? sources_.biases : sources_.constants;
}

const Enclosure* BoundWalk::find(const std::string& tensor) const {
  const auto found = values_.find(tensor);
  return found == values_.end() ? nullptr : &found->second;
}

void BoundWalk::run(const OnTensor& on_tensor) {
  const Alignment& model = plan_.alignment();
  for (const auto& [name, tensor] : inputs_) {
    on_tensor(nullptr, name, values_[name] = exact_enclosure({TensorPtr(), &tensor}));
  }
  std::vector<const Node*> nodes;
  for (const Alignment::Operation& entry : model.operations) {
    nodes.push_back(&entry.node);
  }
  const std::vector<std::vector<std::string>> last_reads = last_readers(nodes, {});
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Node& node = model.operations[i].node;
    std::vector<Enclosure> storage;
    storage.reserve(2 * node.inputs.size() + 1);
    const double unit = sources_.float32 ? plan_.half_unit_of(i) : 0;
    std::vector<const Enclosure*> inputs, before;
    const bool branching = is_branching(node);
    bool complete = branching || model::captured_names(node).empty();
    for (std::size_t k = 0; k < node.inputs.size() && complete; ++k) {
      const auto constant = plan_.constants(i).inputs.find(k);
      before.push_back(nullptr);
      if (node.inputs[k].empty()) {
        inputs.push_back(nullptr);
      } else if (constant != plan_.constants(i).inputs.end()) {
        const bool counts = counts_constant(i, k);
        inputs.push_back(counts ? &constant->second : &storage.emplace_back(exact_enclosure(constant->second.centre)));
      } else if (const Enclosure* value = find(node.inputs[k]); value != nullptr) {
        before.back() = value;
        storage.push_back(operand(i, k, node.inputs[k], *value));
        inputs.push_back(&storage.back());
      } else {
        complete = false;
      }
    }
    if (!complete) {
      continue;
    }
    if (std::optional<Enclosure> bias = rounded_bias(i, inputs)) {
      inputs[kBias] = &storage.emplace_back(std::move(*bias));
    }
    for (std::size_t k = 0; unit > 0 && k < inputs.size(); ++k) {
      if (inputs[k] == nullptr || !inputs[k]->centre->is_real() || !holds_elements_of(node, k)) continue;
      inputs[k] = &storage.emplace_back(*inputs[k]);
      storage.back().relative += unit;
    }
    core::Result<std::vector<Enclosure>> outputs = branching ? follow(i) : enclose(node, inputs);
    for (std::size_t k = 0; outputs && unit > 0 && k < outputs->size(); ++k) {
      if (auto status = round_to_half((*outputs)[k], unit, node); !status) outputs = status.error();
    }
    if (!outputs) {
      if (note_.empty()) {
        note_ = fmt::format("node \"{}\" ({}): {}", node.name, node.op_type, outputs.error().message);
      }
      continue;
    }
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs->size(); ++k) {
      if (on_node_) {
        on_node_(i, node.outputs[k], before, inputs, (*outputs)[k]);
      }
      on_tensor(&model.operations[i], node.outputs[k], values_[node.outputs[k]] = std::move((*outputs)[k]));
    }
    for (const std::string& name : last_reads[i]) {
      values_.erase(name);
    }
  }
}

/// A QuantizeLinear or DequantizeLinear of an original that is quantized already keeps its own parameters.
core::Result<std::vector<Enclosure>> BoundWalk::enclose(const Node& node,
                                                        std::span<const Enclosure* const> inputs) const {
  static const Style kFloatStyle{.name = StyleName::original,
                                 .ties = Ties::either,
                                 .input = InputDivision::any,
                                 .arithmetic = kFloatArithmetic,
                                 .dequantize_error = kFloatUnit,
                                 .divide_error = kFloatUnit};
  const Alignment& model = plan_.alignment();
  const bool quantizes = node.op_type == "QuantizeLinear";
  if (!quantizes && node.op_type != "DequantizeLinear") {
    return enclose_node(node, model.opset(node.domain), inputs, sources_.float32 ? kFloatArithmetic : Arithmetic{});
  }
  const auto params = read_quant_params(node, model.constants);
  if (!params) {
    return params.error();
  }
  if (quantizes && engine_.twice && params->scale.size() == 1) {
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

Enclosure BoundWalk::quantized(const Enclosure& tensor, const QuantizationPlan::Rounding& rounding) const {
  return rounding.span && tensor.centre->is_real() ? passed_on(tensor, {&*rounding.span}, false) : tensor;
}

Enclosure BoundWalk::rounded(const std::string& tensor, const Enclosure& value) const {
  const std::vector<QuantizationPlan::Rounding>& roundings = plan_.roundings(tensor);
  if (roundings.empty() || !value.centre->is_real()) {
    return value;
  }
  std::vector<const CodeSpan*> once;
  for (const QuantizationPlan::Rounding& rounding : roundings) {
    if (!rounding.chained && rounding.span) {
      once.push_back(&*rounding.span);
    }
  }
  Enclosure all = passed_on(value, once, true);
  for (const QuantizationPlan::Rounding& rounding : roundings) {
    if (rounding.chained && rounding.span) {
      all = passed_on(all, {&*rounding.span}, true);
    }
  }
  return all;
}

Enclosure BoundWalk::before(const std::string& tensor, const QuantizationPlan::Rounding& rounding,
                            const Enclosure& value) const {
  if (!rounding.chained || !value.centre->is_real()) {
    return value;
  }
  const std::vector<QuantizationPlan::Rounding>& roundings = plan_.roundings(tensor);
  std::vector<const CodeSpan*> once;
  for (const QuantizationPlan::Rounding& each : roundings) {
    if (!each.chained && each.span) {
      once.push_back(&*each.span);
    }
  }
  Enclosure all = once.empty() ? value : passed_on(value, once, false);
  for (const QuantizationPlan::Rounding& each : roundings) {
    if (&each == &rounding) {
      break;
    }
    if (each.chained && each.span) {
      all = passed_on(all, {&*each.span}, true);
    }
  }
  return all;
}

/// What any one of `spans` makes of the tensor; with `itself`, or that it stays as it is.
Enclosure BoundWalk::passed_on(const Enclosure& tensor, const std::vector<const CodeSpan*>& spans, bool itself) const {
  const Enclosure own = with_explicit_ends(tensor);
  const std::span<const double> own_low = own.low_or_centre().reals(), own_high = own.high_or_centre().reals();
  Tensor low = own.low_or_centre();
  Tensor high = own.high_or_centre();
  const std::span<double> lows = low.reals(), highs = high.reals();
  for (const CodeSpan* span : spans) {
    const bool joins = itself || span != spans.front();
    for (std::size_t i = 0; i < lows.size(); ++i) {
      const bool zero = own_low[i] == 0 && own_high[i] == 0;  // has a code of its own
      const auto twice = [&](double value) { return engine_.twice ? span->half(value) / 2 : 0; };
      const Interval ends = span->quantized(
          zero ? Interval{0, 0} : Interval{own_low[i] - twice(own_low[i]), own_high[i] + twice(own_high[i])});
      lows[i] = joins ? std::min(lows[i], ends.low) : ends.low;
      highs[i] = joins ? std::max(highs[i], ends.high) : ends.high;
    }
  }
  Enclosure result = exact_enclosure(tensor.centre);
  result.low = std::make_shared<const Tensor>(std::move(low));
  result.high = std::make_shared<const Tensor>(std::move(high));
  return result;
}

/// What the node reads: after the tensor's own roundings, and after one on the range that this inference finds.
Enclosure BoundWalk::operand(std::size_t entry, std::size_t index, const std::string& tensor,
                             const Enclosure& value) const {
  Enclosure read = static_operand(entry, index, tensor, value);
  const bool is_input = plan_.alignment().original->graph.find_input(tensor) != nullptr;
  const bool counts = is_input ? sources_.inputs : sources_.inner;
  if (!counts || !plan_.alignment().operations[entry].rounds_dynamically(index)) return read;
  return rounded_dynamically(read, plan_.rounds_around_zero(), engine_.twice ? 0.25 : 0);
}

Enclosure BoundWalk::static_operand(std::size_t entry, std::size_t index, const std::string& tensor,
                                    const Enclosure& value) const {
  if (plan_.alignment().operations[entry].node.op_type == "QuantizeLinear") {
    return value;  // the artifact's quantizer stands for this very node
  }
  if (!known_) {
    const bool is_input = plan_.alignment().original->graph.find_input(tensor) != nullptr;
    return (is_input ? sources_.inputs : sources_.inner) ? rounded(tensor, value) : value;
  }
  return known_operand(tensor, value, plan_.alignment().codes_read(entry, index));
}

Enclosure BoundWalk::known_operand(const std::string& tensor, const Enclosure& value, const std::string& codes) const {
  Enclosure hull = value;
  for (const QuantizationPlan::Rounding& rounding : plan_.roundings(tensor)) {
    const TensorPtr known = value.centre->is_real() ? known_(rounding.codes) : nullptr;
    if (known == nullptr) {
      continue;
    }
    if (known->shape() != value.centre->shape()) {
      // It was rounded before an operator (a Pad, say) that the converter fused into this one, or for another reader
      // behind a Reshape.
      if (rounding.span) hull = passed_on(hull, {&*rounding.span}, rounding.codes != codes);
      continue;
    }
    if (rounding.codes == codes) {
      Enclosure read = exact_enclosure(known);
      read.relative = sources_.float32 ? kFloatUnit : 0;  // what is read is the float32 product of code and scale
      return read;
    }
    // Read directly, or through an operator that the converter removed: somewhere between before and after.
    Tensor low = hull.low_or_centre();
    Tensor high = hull.high_or_centre();
    const std::span<const double> actual = known->reals();
    const std::span<double> lows = low.reals(), highs = high.reals();
    for (std::size_t i = 0; i < actual.size(); ++i) {
      lows[i] = std::min(lows[i], actual[i]);
      highs[i] = std::max(highs[i], actual[i]);
    }
    hull.low = std::make_shared<const Tensor>(std::move(low));
    hull.high = std::make_shared<const Tensor>(std::move(high));
  }
  return hull;
}

/// The branch that an If takes, in float, on the tensors around it in whichever form it reads them.
core::Result<std::vector<Enclosure>> BoundWalk::follow(std::size_t entry) const {
  const Alignment& model = plan_.alignment();
  const Alignment::Operation& operation = model.operations[entry];
  if (operation.made == nullptr) return rules::no_bound(operation.node, "which constants its branches read is unknown");
  const Node& made = model.artifact->artifact().graph.nodes[operation.made->index];
  if (!same_branches(operation.node, made)) return rules::no_bound(operation.node, "its branches were changed");
  const Constants constants = constants_of(model.artifact->artifact().graph);
  std::map<std::string, Enclosure> read;
  const auto known = [&](const std::string& name) -> const Enclosure* {
    if (const auto found = read.find(name); found != read.end()) return &found->second;
    if (const Enclosure* value = find(name)) {
      if (!value->centre->is_real()) return value;
      if (known_) return &read.emplace(name, known_operand(name, *value, "")).first->second;
      const bool is_input = model.original->graph.find_input(name) != nullptr;
      const bool counts = is_input ? sources_.inputs : sources_.inner;
      return &read.emplace(name, counts ? rounded(name, *value) : *value).first->second;
    }
    const auto constant = model.constants.find(name);
    const auto own = constants.find(name);
    const bool same = constant != model.constants.end() && own != constants.end() && *own->second == *constant->second;
    if (!same) return nullptr;
    return &read.emplace(name, exact_enclosure(constant->second)).first->second;
  };
  const BranchScope around{known, [&](const std::string& domain) { return model.opset(domain); }};
  return enclose_branch(operation.node, around, sources_.float32 ? kFloatArithmetic : Arithmetic{});
}

}  // namespace assay::judge
