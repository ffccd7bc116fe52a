#include "harness/judge/enclosures/artifact_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/enclosures/branches.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/evidence/precision.hpp"

namespace assay::judge {

using core::QuantParams;
using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using Action = WalkStep::Action;

Result<PreparedArtifact> PreparedArtifact::make(const ArtifactView& view, const Evidence& evidence) {
  PreparedArtifact prepared(view);
  const model::Graph& graph = view.artifact().graph;
  const auto constants = constants_of(graph);
  for (const auto& [name, tensor] : graph.initializers) {
    prepared.constants_.emplace(name, exact_enclosure(tensor));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Result<WalkStep> step = prepared.read(graph.nodes[i], i, constants);
    if (!step) {
      return step.error();
    }
    prepared.steps_.push_back(std::move(*step));
    prepared.fold(graph.nodes[i], prepared.steps_.back());
  }
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes) {
    nodes.push_back(&node);
  }
  prepared.last_reads_ = last_readers(nodes, graph.outputs);
  prepared.mark_precision(evidence);
  return prepared;
}

void PreparedArtifact::mark_precision(const Evidence& evidence) {
  std::unordered_multimap<std::string_view, const converters::NodePrecision*> reported;
  for (const converters::NodePrecision& precision : evidence.conversion.precision) {
    reported.emplace(precision.node, &precision);
  }
  for (const ArtifactNode& node : view_->nodes()) {
    const std::string& name =
        node.original ? evidence.model->graph.nodes[*node.original].name : graph().nodes[node.index].name;
    const auto [begin, end] = reported.equal_range(name);
    for (auto entry = begin; entry != end; ++entry) {
      const converters::NodePrecision& precision = *entry->second;
      WalkStep& step = steps_[node.index];
      if (!ran_in_int8(precision)) {
        step.integer = false;
      } else if (sums_products(node.op) && node.quantized_inputs && node.in_bytes() && !requantized(node) &&
                 std::ranges::none_of(node.inputs, &Operand::dynamic)) {
        step.integer = step.left_in_float = true;
      }
    }
  }
}

/// Whether one requantization brings the accumulators to all that is read of them: bytes under one scale.
bool PreparedArtifact::requantized(const ArtifactNode& node) const {
  const auto is_byte = [](const std::optional<QuantParams>& params) {
    return params && params->scale.size() == 1 &&
           (params->type == core::DType::int8 || params->type == core::DType::uint8);
  };
  const Node& made = graph().nodes[node.index];
  return std::all_of(node.outputs.begin(), node.outputs.end(), is_byte) && only_quantized(made.outputs[0], true);
}

/// Whether nobody reads the values of `tensor` but QuantizeLinear nodes, with at most one Relu or Clip before them.
bool PreparedArtifact::only_quantized(const std::string& tensor, bool before_activation) const {
  const std::vector<std::size_t>& readers = wiring_.consumers(tensor);
  if (readers.empty() || wiring_.is_output(tensor)) {
    return false;
  }
  return std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
    const Node& node = graph().nodes[reader];
    const OperatorTraits& traits = traits_of(node);
    return node.op_type == "QuantizeLinear" || traits.shape_only ||
           (before_activation && traits.clamp != Clamp::none && readers.size() == 1 &&
            only_quantized(node.outputs[0], false));
  });
}

std::int64_t PreparedArtifact::opset(const std::string& domain) const {
  const auto found = view_->artifact().opsets.find(domain);
  return found == view_->artifact().opsets.end() ? 1 : found->second;
}

Result<WalkStep> PreparedArtifact::read(const Node& node, std::size_t index, const Constants& constants) const {
  WalkStep step;
  const ArtifactNode* entry = view_->find(index);
  step.integer = entry != nullptr && entry->integer() && entry->in_bytes();
  for (const std::string& output : node.outputs) step.unit = std::max(step.unit, unit(output));
  if (dynamic_codes(node, wiring_, graph())) {
    step.action = Action::round;
  } else if (reads_dynamic_codes(node, wiring_, graph())) {
    step.action = Action::pass;
  } else if (model::is_quantizer(node)) {
    step.action = node.op_type == "QuantizeLinear" ? Action::quantize : Action::dequantize;
    Result<QuantParams> params = read_quant_params(node, constants);
    if (!params) {
      return params.error();
    }
    step.params = std::move(*params);
    step.unit = step.params.unit;
  }
  return step;
}

/// Computes nodes whose inputs are all constant: codes exactly, where a QuantizeLinear's quotient isn't so near to the
/// middle of two that its division decides; what is computed in float within the error of float32.
void PreparedArtifact::fold(const Node& node, WalkStep& step) {
  static const Style kFolding{.name = StyleName::constant, .input = InputDivision::any, .arithmetic = {}};
  std::vector<const Enclosure*> inputs;
  for (const std::string& name : node.inputs) {
    const auto found = constants_.find(name);
    if (!name.empty() && found == constants_.end()) {
      return;
    }
    inputs.push_back(name.empty() ? nullptr : &found->second);
  }
  const bool dynamic = step.action == Action::round || step.action == Action::pass;
  if (node.outputs.empty() || dynamic || !model::captured_names(node).empty()) {
    return;
  }
  if (step.action == Action::plain) {
    Result<std::vector<Enclosure>> values =
        enclose_node(node, opset(node.domain), inputs, Arithmetic{.float_unit = kFloatUnit});
    if (!values) {
      return;
    }
    for (std::size_t i = 0; i < node.outputs.size() && i < values->size(); ++i) {
      constants_[node.outputs[i]] = std::move((*values)[i]);
    }
  } else {
    const Result<Enclosure> value = step.action == Action::quantize
                                        ? quantize_enclosure(*inputs[0], step.params, kFolding, true)
                                        : dequantize_enclosure(*inputs[0], step.params, kFolding);
    if (!value) {
      return;
    }
    constants_[node.outputs[0]] = *value;
  }
  step.action = Action::constant;
}

void ArtifactWalk::run(const OnTrace& on_trace) {
  const model::Graph& graph = artifact_.graph();
  for (const model::ValueInfo& input : graph.inputs) {
    const auto found = execution_.inputs.find(input.name);
    if (found != execution_.inputs.end()) {
      Enclosure& value = values_[input.name] = exact_enclosure({TensorPtr(), &found->second});
      // A wider value than the artifact computes with is rounded on its way in.
      if (half_unit(found->second.type()) == 0) value.relative = std::max(value.relative, artifact_.unit(input.name));
    }
  }
  const auto free_read = [this](std::size_t index) {
    for (const std::string& name : artifact_.last_read_by(index)) {
      if (!kept_.contains(name)) {
        values_.erase(name);
      }
    }
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const WalkStep& current = artifact_.steps()[i];
    const Node& node = graph.nodes[i];
    if (current.action == Action::constant || node.outputs.empty()) {
      continue;
    }
    step(node, current);
    const std::string& name = node.outputs.front();
    if (current.action == Action::quantize && open_.contains(name)) {
      const auto codes = values_.find(name);
      const Enclosure* value = find(node.inputs.front());
      if (codes != values_.end() && value != nullptr)
        codes->second = as_if_unrounded(codes->second, *value, current.params);
    }
    free_read(i);
    if (current.action != Action::quantize || open_.contains(name)) continue;
    const Enclosure* expected = find(name);
    const auto traced = execution_.trace.find(name);
    if (traced == execution_.trace.end()) {
      uncertain_ = uncertain_ || (expected != nullptr && !expected->is_point());
      continue;
    }
    if (expected != nullptr && on_trace && !on_trace(name, i, *expected, traced->second)) {
      return;
    }
    const bool fits = expected == nullptr ? core::is_code_type(traced->second.type())
                                          : traced->second.type() == expected->centre->type() &&
                                                traced->second.shape() == expected->centre->shape();
    if (fits) {
      values_[name] = exact_enclosure({TensorPtr(), &traced->second});
    }
  }
}

const Enclosure* ArtifactWalk::find(const std::string& tensor) const {
  const auto value = values_.find(tensor);
  if (value != values_.end()) {
    return &value->second;
  }
  const auto constant = artifact_.constants().find(tensor);
  return constant == artifact_.constants().end() ? nullptr : &constant->second;
}

CodeTensors ArtifactWalk::codes_of(const std::set<std::string>& tensors) const {
  CodeTensors codes;
  for (const std::string& name : tensors) {
    if (const Enclosure* held = find(name); held != nullptr && core::is_code_type(held->centre->type())) {
      codes.emplace(name, held->centre);
    }
  }
  return codes;
}

void ArtifactWalk::step(const Node& node, const WalkStep& step) {
  Result<std::vector<Enclosure>> outputs = evaluate(node, step);
  if (!outputs) {
    if (note_.empty() && !outputs.error().message.empty()) {
      note_ = fmt::format("node \"{}\" ({}): {}", node.name, node.op_type, outputs.error().message);
    }
    return;
  }
  for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
    values_[node.outputs[i]] = std::move((*outputs)[i]);
  }
}

Result<std::vector<Enclosure>> ArtifactWalk::evaluate(const Node& node, const WalkStep& step) const {
  if (step.action == Action::round || step.action == Action::pass) {
    const Enclosure* value = find(node.inputs[0]);
    if (value == nullptr) return core::Error{};
    if (step.action == Action::pass) return std::vector<Enclosure>{*value};
    const bool computed = node.op_type == "QuantizeLinear";
    const Enclosure* scale = computed ? find(node.inputs[1]) : nullptr;
    const Enclosure* zero_point = computed && node.inputs.size() > 2 ? find(node.inputs[2]) : nullptr;
    if (computed && (scale == nullptr || zero_point == nullptr)) return core::Error{};
    auto rounded =
        computed ? through_codes(*value, *scale, *zero_point, style_) : through_dynamic_codes(*value, style_);
    if (!rounded) return rounded.error();
    return std::vector<Enclosure>{*std::move(rounded)};
  }
  if (is_branching(node)) return follow(node);
  std::vector<Enclosure> storage;
  std::vector<const Enclosure*> inputs;
  storage.reserve(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& name = node.inputs[i];
    const Enclosure* value = name.empty() ? nullptr : find(name);
    if (!name.empty() && value == nullptr) {
      return core::Error{};  // something before it stopped, and has said why
    }
    const double error =
        value == nullptr || value->codes == nullptr ? 0 : std::max(style_.dequantize_error, value->codes->unit);
    if (value != nullptr && value->codes != nullptr && value->relative != error && value->is_point()) {
      storage.push_back(*value);  // a constant dequantized without error when it was prepared
      storage.back().relative = error;
      value = &storage.back();
    } else if (value != nullptr && step.unit > 0 && value->centre->is_real() && holds_elements_of(node, i) &&
               artifact_.unit(name) == 0) {
      storage.push_back(*value);  // cast to 16 bits on the way
      storage.back().relative += step.unit;
      value = &storage.back();
    }
    inputs.push_back(value);
  }
  if (step.action == Action::quantize || step.action == Action::dequantize) {
    const bool is_input = step.unit == 0 && artifact_.graph().find_input(node.inputs[0]) != nullptr;
    Style style = style_;
    style.divide_error = std::max(style.divide_error, step.unit);
    style.dequantize_error = std::max(style.dequantize_error, step.unit);
    Result<Enclosure> value = step.action == Action::quantize
                                  ? quantize_enclosure(*inputs[0], step.params, style, is_input)
                                  : dequantize_enclosure(*inputs[0], step.params, style);
    if (!value) {
      return value.error();
    }
    return std::vector<Enclosure>{std::move(*value)};
  }
  if (!model::captured_names(node).empty()) {
    return core::Error{.kind = core::ErrorKind::unsupported,
                       .message = "its subgraphs are not followed",
                       .node = node.name,
                       .op = node.op_type,
                       .tensor = {}};
  }
  Arithmetic arithmetic = style_.arithmetic;
  arithmetic.integer_accumulator = arithmetic.integer_accumulator && step.integer;
  if (arithmetic.integer_accumulator && step.left_in_float) {
    // Nothing is requantized: float32(acc), the product of the scales and theirs are rounded.
    arithmetic.real_bias = true;
    arithmetic.rounds_bias = arithmetic.rounds_accumulator = false;
    arithmetic.multiplier_error = 3 * arithmetic.float_unit;
  }
  Result<std::vector<Enclosure>> outputs = enclose_node(node, artifact_.opset(node.domain), inputs, arithmetic);
  for (std::size_t i = 0; outputs && step.unit > 0 && i < outputs->size(); ++i) {
    if (auto status = round_to_half((*outputs)[i], step.unit, node); !status) return status.error();
  }
  if (outputs && step.left_in_float) {
    outputs->front().accumulator = false;  // stored as float32: whoever quantizes it later divides that
  }
  return outputs;
}

/// An If runs in float, on what it reads around it.
Result<std::vector<Enclosure>> ArtifactWalk::follow(const Node& node) const {
  std::unordered_map<std::string, Enclosure> read;  // dequantized with the style's error
  const auto known = [&](const std::string& name) -> const Enclosure* {
    const Enclosure* value = find(name);
    if (value == nullptr || value->codes == nullptr || !value->is_point()) return value;
    Enclosure& copy = read[name] = *value;
    copy.relative = std::max(style_.dequantize_error, value->codes->unit);
    return &copy;
  };
  Arithmetic arithmetic = style_.arithmetic;
  arithmetic.integer_accumulator = false;
  const BranchScope around{known, [this](const std::string& domain) { return artifact_.opset(domain); }};
  return enclose_branch(node, around, arithmetic);
}

std::vector<std::vector<std::string>> last_readers(const std::vector<const Node*>& nodes,
                                                   const std::vector<model::ValueInfo>& outputs) {
  std::set<std::string> needed;
  for (const model::ValueInfo& output : outputs) {
    needed.insert(output.name);
  }
  std::vector<std::vector<std::string>> result(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (const std::string& name : nodes[i]->inputs) {
      if (needed.insert(name).second) {
        result[i].push_back(name);
      }
    }
    for (const std::string& name : model::captured_names(*nodes[i])) {
      needed.insert(name);
    }
  }
  return result;
}

}  // namespace assay::judge
