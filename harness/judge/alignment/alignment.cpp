#include "harness/judge/alignment/alignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// The bias of `channels` channels, where it has that form: [C], [1,C], or one value for all.
std::optional<std::vector<double>> channel_bias(const Tensor& bias, std::size_t channels) {
  std::vector<double> values = bias.to_reals();
  if (values.size() == 1) {
    values.resize(channels, values.front());
  }
  const bool along_last = bias.rank() == 0 || bias.size() == 1 || bias.shape().back() == bias.size();
  return values.size() == channels && along_last ? std::optional(values) : std::nullopt;
}

/// The bias that `linear` has of its own, empty where it has none; nothing where it is unknown or has another form.
std::optional<std::vector<double>> own_bias(const Node& linear, const Constants& constants, std::size_t channels) {
  if (linear.input(kBias).empty()) {
    return std::vector<double>();
  }
  const TensorPtr bias = find_constant(constants, linear.input(kBias));
  return bias == nullptr || !bias->is_real() ? std::nullopt : channel_bias(*bias, channels);
}

/// The constants of `linear` and of what `affine` says stands behind it; nothing where shapes do not fit (somebody
/// else's finding).
std::optional<Alignment::Folded> fold(const Node& linear, const std::optional<GainAndShift>& affine,
                                      const Constants& constants) {
  const TensorPtr weight = find_constant(constants, linear.input(1));
  const std::int64_t least_rank = is_convolution(traits_of(linear).product) ? 3 : 2;
  if (weight == nullptr || !affine || !weight->is_real() || weight->rank() < least_rank) {
    return std::nullopt;
  }
  const std::size_t channels = affine->gain.size();
  Tensor folded = *weight;
  const WeightLayout layout = weight_layout(linear, weight->rank());
  for (std::size_t i = 0; i < folded.reals().size(); ++i) {
    const std::size_t channel = layout.channel(weight->shape(), i);
    if (channel >= channels) {
      return std::nullopt;
    }
    folded.reals()[i] *= affine->gain[channel];
  }
  const auto own = own_bias(linear, constants, channels);
  if (!own) {
    return std::nullopt;
  }
  std::vector<double> bias = affine->shift;
  for (std::size_t c = 0; c < own->size(); ++c) {
    bias[c] += affine->gain[c] * (*own)[c];
  }
  const core::Shape shape{static_cast<std::int64_t>(channels)};
  return Alignment::Folded{std::make_shared<const Tensor>(std::move(folded)),
                           std::make_shared<const Tensor>(weight->type(), shape, std::move(bias)), affine->gain};
}

/// Makes one node of `operation` and the BatchNormalization or Mul behind it, the original's node `index`.
void take(Alignment::Operation& operation, const Node& behind, std::size_t index, Alignment::Folded folded,
          Constants& constants) {
  const std::string stem = operation.node.name + " with " + behind.name;
  operation.node.outputs = {behind.outputs.front()};
  operation.node.inputs.resize(3);
  operation.node.inputs[1] = stem + ": weight";
  operation.node.inputs[2] = stem + ": bias";
  operation.last = index;
  constants[operation.node.inputs[1]] = std::move(folded.weight);
  constants[operation.node.inputs[2]] = std::move(folded.bias);
}

/// The node that alone reads what `node`, an operator with weights, makes.
std::optional<std::size_t> sole_reader(const model::Wiring& wiring, const Node& node) {
  if (!takes_bias(traits_of(node).product) || wiring.is_output(node.outputs.front())) {
    return std::nullopt;
  }
  const std::vector<std::size_t>& readers = wiring.consumers(node.outputs.front());
  return readers.size() == 1 ? std::optional(readers[0]) : std::nullopt;
}

/// One value, or one for each of `channels` that lie along axis 1 of `rank`; nothing for what spans other axes.
std::optional<std::vector<double>> channel_values(const Tensor& constant, std::size_t channels, std::int64_t rank) {
  if (!constant.is_real() || constant.rank() > rank) {
    return std::nullopt;
  }
  std::vector<double> values = constant.to_reals();
  if (values.size() == 1) {
    values.resize(channels, values.front());
    return values;
  }
  const std::int64_t axis = 1 - (rank - constant.rank());
  const bool along_channels = axis >= 0 && constant.shape()[static_cast<std::size_t>(axis)] == constant.size();
  return along_channels && values.size() == channels ? std::optional(values) : std::nullopt;
}

/// The constant operand of `node`, which reads the output of `linear`, one value for each output channel.
std::optional<std::vector<double>> channel_operand(const Node& linear, const Node& node, const Constants& constants) {
  const std::size_t other = node.input(0) == linear.outputs.front() ? 1 : 0;
  const TensorPtr weight = find_constant(constants, linear.input(1)),
                  operand = find_constant(constants, node.input(other));
  if (weight == nullptr || operand == nullptr) {
    return std::nullopt;
  }
  const auto channels = static_cast<std::size_t>(weight_layout(linear, weight->rank()).channels(weight->shape()));
  return channel_values(*operand, channels, weight->rank());
}

/// What a BatchNormalization or the product with a constant does to the output of `linear`, which it reads.
std::optional<GainAndShift> affine_behind(const Node& linear, const Node& node, const Constants& constants) {
  if (normalizes_by_constants(node)) {
    return node.input(0) == linear.outputs.front() ? read_batch_normalization(node, constants) : std::nullopt;
  }
  auto gain = traits_of(node).formula == Formula::product ? channel_operand(linear, node, constants) : std::nullopt;
  if (!gain) {
    return std::nullopt;
  }
  std::vector<double> shift(gain->size(), 0);
  return GainAndShift{*std::move(gain), std::move(shift)};
}

/// `linear` with the constant that `add` adds to it in its bias; nothing where that has no such form.
std::optional<Node> with_addend(const Node& linear, const Node& add, Constants& constants) {
  auto values = add.op_type == "Add" ? channel_operand(linear, add, constants) : std::nullopt;
  const auto own = values ? own_bias(linear, constants, values->size()) : std::nullopt;
  if (!own) {
    return std::nullopt;
  }
  for (std::size_t c = 0; c < own->size(); ++c) {
    (*values)[c] += (*own)[c];
  }
  Node sum = linear;
  sum.inputs.resize(3);
  sum.inputs[kBias] = linear.name + " with " + add.name + ": bias";
  sum.outputs = {add.outputs.front()};
  const core::Shape shape{static_cast<std::int64_t>(values->size())};
  constants[sum.inputs[kBias]] =
      std::make_shared<const Tensor>(find_constant(constants, linear.input(1))->type(), shape, *std::move(values));
  return sum;
}

TensorPtr multiplied(const Tensor& tensor, double factor) {
  Tensor product = tensor;
  for (double& value : product.reals()) {
    value *= factor;
  }
  return std::make_shared<const Tensor>(std::move(product));
}

/// Gemm's alpha and beta go into its constants: what is left is y = x·w + b.
void take_factors(Node& node, Constants& constants) {
  const TensorPtr weight = find_constant(constants, node.input(1));
  const TensorPtr bias = find_constant(constants, node.input(2));
  const bool open_bias = !node.input(2).empty() && bias == nullptr;
  if (traits_of(node).product != Product::gemm || weight == nullptr || !weight->is_real() || open_bias) {
    return;
  }
  const double alpha = alpha_of(node), beta = beta_of(node);
  if (alpha != 1) {
    node.inputs[1] = node.name + ": alpha times weight";
    constants[node.inputs[1]] = multiplied(*weight, alpha);
  }
  if (beta != 1 && bias != nullptr) {
    node.inputs[2] = node.name + ": beta times bias";
    constants[node.inputs[2]] = multiplied(*bias, beta);
  }
  node.attributes["alpha"] = 1.0;
  node.attributes["beta"] = 1.0;
}

/// The original's graph without the copies that the artifact has neither as nodes nor as tensors: they are left without
/// inputs and outputs, and what read them reads their source. A graph output that is a copy becomes its source's own
/// name.
model::Graph past_copies(model::Graph graph, const Alignment& alignment) {
  std::set<std::string> made, captured;
  for (const Node& node : graph.nodes) {
    made.insert(node.outputs.begin(), node.outputs.end());
    const auto names = model::captured_names(node);
    captured.insert(names.begin(), names.end());
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool copies = traits_of(node).movement == Movement::copies;
    if (!copies || node.outputs.size() != 1 || !alignment.is_gone(i)) {
      continue;
    }
    const std::string source = node.inputs.front(), copy = node.outputs.front();
    const bool shows = graph.find_output(copy) != nullptr;
    const std::string& vanished = shows ? source : copy;
    const bool stays = captured.contains(vanished) || graph.find_output(vanished) != nullptr ||
                       !made.contains(vanished) || !alignment.artifact->quantizers_of(vanished).empty();
    if (stays) {
      continue;
    }
    graph.nodes[i].inputs.clear();
    graph.nodes[i].outputs.clear();
    for (Node& other : graph.nodes) {
      std::ranges::replace(other.inputs, vanished, shows ? copy : source);
      std::ranges::replace(other.outputs, vanished, shows ? copy : source);
    }
  }
  return graph;
}

/// A BatchNormalization, or a Mul or an Add of a constant, that alone reads `operation` and is gone from the artifact
/// became part of it. Returns the reader's index; nothing where it stays, or can't be part.
std::optional<std::size_t> take_reader(Alignment::Operation& operation, const model::Graph& graph,
                                       const model::Wiring& wiring, Alignment& alignment) {
  const auto reader = sole_reader(wiring, operation.node);
  if (!reader || !alignment.is_gone(*reader)) {
    return std::nullopt;
  }
  const Node& next = graph.nodes[*reader];
  const bool normalizes = normalizes_by_constants(next);
  if (normalizes || operation.made != nullptr) {
    if (auto folded =
            fold(operation.node, affine_behind(operation.node, next, alignment.constants), alignment.constants)) {
      take(operation, next, *reader, *std::move(folded), alignment.constants);
      return reader;
    }
  }
  // What isn't found again may have become anything.
  auto sum = operation.made == nullptr ? std::nullopt : with_addend(operation.node, next, alignment.constants);
  if (!sum) {
    return std::nullopt;
  }
  operation.node = *std::move(sum);
  operation.last = *reader;
  return reader;
}

/// See GivenParams.
GivenParams kept_params(const model::Model& original) {
  GivenParams given;
  const bool quantized = std::ranges::any_of(original.graph.nodes,
                                             [](const model::Node& node) { return node.op_type == "QuantizeLinear"; });
  if (!quantized) return given;
  // Its view beside itself names every quantizer's tensor.
  auto view = ArtifactView::build(std::make_shared<const model::Model>(original), original);
  if (!view) return given;
  for (const Quantizer& quantizer : view->quantizers()) {
    if (!quantizer.constant) given[quantizer.original].push_back(quantizer.params);
  }
  return given;
}

}  // namespace

std::optional<GainAndShift> read_batch_normalization(const Node& node, const Constants& constants) {
  std::vector<std::vector<double>> parts;
  for (std::size_t i = 1; i <= 4; ++i) {
    const TensorPtr part = find_constant(constants, node.input(i));
    if (part == nullptr || !part->is_real()) {
      return std::nullopt;
    }
    parts.push_back(part->to_reals());
    if (parts.back().size() != parts.front().size()) {
      return std::nullopt;
    }
  }
  const double epsilon = node.float_or("epsilon", 1e-5);
  GainAndShift affine;
  for (std::size_t c = 0; c < parts[0].size(); ++c) {
    const double gain = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    affine.gain.push_back(gain);
    affine.shift.push_back(parts[1][c] - parts[2][c] * gain);
  }
  return affine;
}

std::optional<WeightSlots> weight_slots(const Node& node, const Constants& constants) {
  const auto constant = [&](std::size_t index) { return find_constant(constants, node.input(index)) != nullptr; };
  const Product product = traits_of(node).product;
  if (product == Product::none) {
    return std::nullopt;
  }
  for (const std::size_t operand : {1U, 0U}) {
    if ((operand == 0 && product != Product::matmul) || !constant(operand)) {
      continue;
    }
    const std::int64_t rank = find_constant(constants, node.input(operand))->rank();
    const bool batched = is_matrix_product(product) && rank > 2;
    return WeightSlots{operand, weight_layout(node, rank, operand).axis, takes_bias(product), batched};
  }
  return std::nullopt;
}

std::int64_t Alignment::opset(const std::string& domain) const {
  const auto found = original->opsets.find(domain);
  return found == original->opsets.end() ? 1 : found->second;
}

const ArtifactNode* Alignment::made(std::size_t index) const {
  return artifact == nullptr ? nullptr : artifact->find_original(index);
}

bool Alignment::has_weight_in_codes(std::size_t index) const {
  const ArtifactNode* node = made(index);
  if (node == nullptr) return false;
  const std::size_t operands = traits_of(node->op).product == Product::matmul ? 0 : 1;  // its weight may be on the left
  return std::any_of(node->inputs.begin() + static_cast<std::ptrdiff_t>(std::min(operands, node->inputs.size())),
                     node->inputs.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, node->inputs.size())),
                     [](const Operand& operand) { return operand.quantized() && operand.constant_codes != nullptr; });
}

std::optional<std::size_t> Alignment::bias_behind_product(std::size_t index) const {
  const Node& node = original->graph.nodes[index];
  if (traits_of(node).formula != Formula::sum || node.inputs.size() != 2) return std::nullopt;
  for (const std::size_t bias : {0U, 1U}) {
    const auto product = wiring.producer(node.inputs[1 - bias]);
    if (constants.contains(node.inputs[bias]) && product && has_weight_in_codes(*product)) return bias;
  }
  return std::nullopt;
}

std::string Alignment::codes_read(std::size_t operation, std::size_t index) const {
  const ArtifactNode* node = operations[operation].made;
  return node != nullptr && index < node->inputs.size() && node->inputs[index].quantized() ? node->inputs[index].codes
                                                                                           : "";
}

std::optional<Alignment::Passed> Alignment::passed_by(const Node& node) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (traits_of(node).clamp == Clamp::at_zero) return Passed{0, kInfinity};
  if (traits_of(node).clamp != Clamp::to_bounds) return std::nullopt;
  Passed passed{node.float_or("min", -kInfinity), node.float_or("max", kInfinity)};
  for (const std::size_t i : {1U, 2U}) {
    if (node.input(i).empty()) continue;
    const auto bound = constants.find(node.input(i));
    if (bound == constants.end() || bound->second->size() != 1) return std::nullopt;
    (i == 1 ? passed.low : passed.high) = bound->second->as_real(0);
  }
  return passed;
}

std::size_t Alignment::answers_for(std::size_t index, double actual) const {
  while (is_gone(index)) {
    const Node& node = original->graph.nodes[index];
    const auto passed = passed_by(node);
    const auto producer = wiring.producer(node.input(0));
    if (!passed || !producer || !(actual >= passed->low && actual <= passed->high)) break;
    index = *producer;
  }
  return index;
}

std::string Alignment::after_removed_activation(std::string tensor) const {
  while (!wiring.is_output(tensor) && wiring.consumers(tensor).size() == 1) {
    const std::size_t reader = wiring.consumers(tensor).front();
    const Node& node = original->graph.nodes[reader];
    const bool cuts = traits_of(node).clamp != Clamp::none;
    if (!cuts || node.input(0) != tensor || !is_gone(reader)) break;
    tensor = node.outputs.front();
  }
  return tensor;
}

Alignment::Alignment(const model::Model& model, const ArtifactView* view)
    : original(&model),
      artifact(view),
      wiring(model.graph),
      constants(constants_of(model.graph)),
      given(kept_params(model)) {}

std::vector<Alignment::Folded> Alignment::folded_further(const Operation& operation) const {
  const bool folds = operation.maybe_folded || operation.last != operation.original;
  std::vector<Folded> all;
  Constants known = constants;
  Operation longer = operation;
  while (const auto reader = sole_reader(wiring, longer.node)) {
    const Node& next = original->graph.nodes[*reader];
    if (const auto sum = with_addend(longer.node, next, known)) {
      longer.node = *sum;
      all.push_back({known.at(sum->inputs[1]), known.at(sum->inputs[kBias]), {}});
      continue;
    }
    const bool normalizes = folds && normalizes_by_constants(next);
    const auto folded = normalizes ? fold(longer.node, affine_behind(longer.node, next, known), known) : std::nullopt;
    if (!folded) break;
    all.push_back(*folded);
    take(longer, next, *reader, *folded, known);
  }
  return all;
}

Alignment Alignment::of(const model::Model& original, const ArtifactView* artifact, const FoldsNormalization& folds,
                        const SupposesFolded& supposed) {
  Alignment alignment(original, artifact);
  const model::Graph graph = artifact == nullptr ? original.graph : past_copies(original.graph, alignment);
  const model::Wiring wiring(graph);
  std::set<std::size_t> gone;               // what is part of the operator before
  std::map<std::size_t, std::size_t> open;  // those that may be: the index of that operation
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool copy = node.outputs.empty() && !original.graph.nodes[i].outputs.empty();
    if (copy || gone.contains(i)) {
      continue;
    }
    Operation operation{node, i, i, {}, {}, alignment.made(i)};
    take_factors(operation.node, alignment.constants);
    if (const auto before = open.find(i); before != open.end()) {
      operation.maybe_folded_into = before->second;
    }
    if (artifact != nullptr) {
      while (const auto taken = take_reader(operation, graph, wiring, alignment)) gone.insert(*taken);
    }
    // A policy that folds speaks of the BatchNormalization behind a layer; nobody knows of one behind that.
    for (bool further = artifact == nullptr; std::exchange(further, false);) {
      Node sum = operation.node;  // with the constants that are added to it
      std::optional<std::size_t> behind = sole_reader(wiring, sum);
      bool direct = true;
      while (behind && graph.nodes[*behind].op_type == "Add") {
        const auto longer = with_addend(sum, graph.nodes[*behind], alignment.constants);
        direct = false;
        if (longer) sum = *longer;
        behind = longer ? sole_reader(wiring, sum) : std::nullopt;
      }
      const bool normalized = behind && normalizes_by_constants(graph.nodes[*behind]) &&
                              graph.nodes[*behind].input(0) == sum.outputs.front();
      const std::optional<bool> known = normalized && folds ? folds(graph.nodes[*behind]) : std::nullopt;
      auto folded = !normalized || known == false
                        ? std::nullopt
                        : fold(sum, affine_behind(sum, graph.nodes[*behind], alignment.constants), alignment.constants);
      const bool first = operation.last == operation.original;
      const bool stated = known && direct && first && traits_of(node).product == Product::convolution;
      if (folded && direct && (stated || (supposed && supposed(node)))) {
        take(operation, graph.nodes[*behind], *behind, *std::move(folded), alignment.constants);
        gone.insert(*behind);
        further = true;
      } else if (folded) {
        operation.maybe_folded = std::move(folded);
        operation.behind_addends = !direct;
        open[*behind] = alignment.operations.size();
      }
    }
    alignment.operations.push_back(std::move(operation));
  }
  return alignment;
}

}  // namespace assay::judge
