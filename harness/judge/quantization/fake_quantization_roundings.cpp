// Which tensors a prediction rounds, and how.
#include <algorithm>
#include <set>

#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"

namespace assay::judge {

using core::QuantParams;
using model::Node;

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

/// Nothing else reads the tensor: such nodes take it as it is.
bool FakeQuantization::is_read_for_biases_alone(const std::string& tensor) const {
  const auto& readers = wiring_.consumers(tensor);
  return !readers.empty() && !wiring_.is_output(tensor) && std::ranges::all_of(readers, [&](std::size_t reader) {
    return stays_for_its_bias(context_.evidence.model->graph.nodes[reader]);
  });
}

const std::vector<FakeQuantization::Rounding>& FakeQuantization::roundings(const std::string& tensor) const {
  static const std::vector<Rounding> kNone;
  const auto found = roundings_.find(tensor);
  return found == roundings_.end() ? kNone : found->second;
}

}  // namespace assay::judge
