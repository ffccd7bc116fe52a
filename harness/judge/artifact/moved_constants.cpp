#include "harness/judge/artifact/moved_constants.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/rewriter.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"
#include "reference/quant_layout.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

bool dequantizes(const Node& node) { return node.op_type == "DequantizeLinear"; }

bool may_move(const Node& node) {
  const Movement movement = traits_of(node).movement;
  return movement == Movement::permutes || movement == Movement::reshapes || movement == Movement::selects ||
         movement == Movement::joins;
}

/// How many of a mover's inputs it moves; the others say how.
std::size_t moved_inputs(const Node& move) {
  return traits_of(move).movement == Movement::joins ? move.inputs.size()
                                                     : std::min<std::size_t>(1, move.inputs.size());
}

/// Which scale each element has, as DequantizeLinear says it: the scales' shape, and which of the former ones they are.
struct ScaleLayout {
  std::optional<std::int64_t> axis;
  std::int64_t block = 0;
  core::Shape shape;
  std::vector<std::int64_t> picks;
};

/// Elements before an axis, along it and behind it.
reference::AxisSplit split(const Tensor& index, std::int64_t axis) {
  return reference::split_at_axis(index.shape(), axis);
}

/// The longest blocks along `axis` (the last one may be short) within which no element has another scale than its
/// neighbour.
std::int64_t block_length(const Tensor& index, std::int64_t axis) {
  const auto [outer, extent, inner] = split(index, axis);
  const std::span<const std::int64_t> scale = index.integers();
  std::int64_t length = 0;
  for (std::int64_t i = 0; i + inner < index.size(); ++i) {
    const std::int64_t position = i / inner % extent + 1;
    if (position < extent && scale[reference::at(i)] != scale[reference::at(i + inner)])
      length = std::gcd(length, position);
  }
  return length == 0 ? extent : length;
}

/// The layout of scales of which `index` says each element's; nothing where a DequantizeLinear can't have it.
std::optional<ScaleLayout> layout_of(const Tensor& index) {
  const std::span<const std::int64_t> scale = index.integers();
  if (scale.empty()) return std::nullopt;
  if (std::ranges::adjacent_find(scale, std::not_equal_to<>()) == scale.end())
    return ScaleLayout{{}, 0, {}, {scale[0]}};
  const std::int64_t rank = index.rank();
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto [outer, extent, inner] = split(index, axis);
    ScaleLayout layout{axis, 0, {extent}, {}};
    for (std::int64_t i = 0; i < extent; ++i) layout.picks.push_back(scale[reference::at(i * inner)]);
    bool along = true;
    for (std::int64_t i = 0; along && i < index.size(); ++i)
      along = scale[reference::at(i)] == layout.picks[reference::at(i / inner % extent)];
    if (along) return layout;
  }
  std::optional<ScaleLayout> best;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t block = block_length(index, axis);
    if (block < 2 || (best && best->block >= block)) continue;
    const auto [outer, extent, inner] = split(index, axis);
    best = ScaleLayout{axis, block, index.shape(), {}};
    best->shape[reference::at(axis)] = (extent + block - 1) / block;
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t j = 0; j < extent; j += block)
        for (std::int64_t k = 0; k < inner; ++k)
          best->picks.push_back(scale[reference::at((i * extent + j) * inner + k)]);
  }
  return best;
}

class Mover : private Rewriter {
 public:
  explicit Mover(const model::Model& artifact) : Rewriter(artifact) {}

  /// Each constant by the first node that moves it; nothing where none is.
  std::optional<model::Model> write() {
    bool any = false;
    result_.graph.nodes.clear();
    for (const Node& node : graph_.nodes) {
      if (may_move(node) && write_moved(node)) {
        any = true;
      } else {
        result_.graph.nodes.push_back(node);
      }
    }
    if (!any) return std::nullopt;
    drop_unread();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Node* maker(std::string_view tensor) const {
    const auto index = wiring_.producer(std::string(tensor));
    return index ? &graph_.nodes[*index] : nullptr;
  }

  /// What a QuantizeLinear makes a constant's codes of, or null.
  [[nodiscard]] const Node* quantizer_of_constant(std::string_view codes) const {
    const Node* node = maker(codes);
    const bool quantizes = node != nullptr && node->op_type == "QuantizeLinear";
    return quantizes && find_constant(constants_, node->input(0)) != nullptr ? node : nullptr;
  }

  /// A constant that is dequantized, and what says how.
  struct Source {
    const Node* dequantize = nullptr;
    const Node* quantize = nullptr;  ///< what makes its codes of the constant, or null
    TensorPtr constant;              ///< the codes, or what is quantized
    TensorPtr scale;                 ///< by value
  };
  [[nodiscard]] std::optional<Source> source_of(std::string_view tensor) const {
    Source source;
    source.dequantize = maker(tensor);
    if (source.dequantize == nullptr || !dequantizes(*source.dequantize)) return std::nullopt;
    source.quantize = quantizer_of_constant(source.dequantize->input(0));
    const Node& first = source.quantize != nullptr ? *source.quantize : *source.dequantize;
    source.constant = find_constant(constants_, first.input(0));
    source.scale = find_constant(constants_, source.dequantize->input(1));
    if (source.constant == nullptr || source.scale == nullptr) return std::nullopt;
    return source;
  }

  /// For each element the number of its scale, counted from `first`.
  static std::optional<Tensor> scale_index(const Source& source, std::int64_t first) {
    const core::Shape& shape = source.constant->shape();
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::vector<std::int64_t> index(static_cast<std::size_t>(source.constant->size()), first);
    if (source.scale->size() > 1) {
      std::int64_t axis = source.dequantize->int_or("axis", 1);
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return std::nullopt;
      const reference::QuantLayout layout{.split = reference::split_at_axis(shape, axis),
                                          .block_size = source.dequantize->int_or("block_size", 0)};
      if (layout.block_size < 0 || layout.count() != source.scale->size()) return std::nullopt;
      for (std::size_t i = 0; i < index.size(); ++i) index[i] += layout.scale_of(static_cast<std::int64_t>(i));
    }
    return Tensor(core::DType::int64, shape, std::move(index));
  }

  /// What is moved is rounded once more: then each of its tensors has codes of its own, as activations do.
  [[nodiscard]] bool is_quantized_again(const Node& move) const {
    return std::ranges::any_of(move.outputs, [&](const std::string& output) {
      const auto& readers = wiring_.consumers(output);
      return !readers.empty() && std::ranges::all_of(readers, [&](std::size_t reader) {
        return graph_.nodes[reader].op_type == "QuantizeLinear";
      });
    });
  }

  bool write_moved(const Node& move) {
    if (is_quantized_again(move)) return false;
    std::vector<Source> sources;
    std::vector<Tensor> indices;
    std::int64_t scales = 0;
    for (std::size_t i = 0; i < moved_inputs(move); ++i) {
      const auto source = source_of(move.input(i));
      if (!source) return false;
      auto index = scale_index(*source, scales);
      if (!index) return false;
      const bool alike = sources.empty() || (source->constant->type() == sources[0].constant->type() &&
                                             (source->quantize == nullptr) == (sources[0].quantize == nullptr));
      if (!alike) return false;
      sources.push_back(*source);
      indices.push_back(*std::move(index));
      scales += source->scale->size();
    }
    if (sources.empty()) return false;
    std::vector<const Tensor*> constants, numbers;
    for (const Source& source : sources) constants.push_back(source.constant.get());
    for (const Tensor& index : indices) numbers.push_back(&index);
    const auto moved = move_all(move, constants), layouts = move_all(move, numbers);
    if (!moved || !layouts) return false;
    std::vector<Node> made;
    for (std::size_t i = 0; i < move.outputs.size(); ++i) {
      if (move.outputs[i].empty()) continue;
      const auto layout = layout_of((*layouts)[i]);
      if (!layout || !write_output(sources, (*moved)[i], *layout, move.outputs[i], made)) return false;
    }
    std::ranges::move(made, std::back_inserter(result_.graph.nodes));
    return true;
  }

  /// The nodes that make `target` of the moved constant, with the scales in `layout`.
  bool write_output(const std::vector<Source>& sources, const Tensor& moved, const ScaleLayout& layout,
                    const std::string& target, std::vector<Node>& made) {
    const Source& first = sources.front();
    std::vector<std::string> parameters;
    for (std::size_t i = 1; i < first.dequantize->inputs.size(); ++i) {
      auto picked = picked_parameter(sources, i, layout, made);
      if (!picked) return false;
      parameters.push_back(*std::move(picked));
    }
    const bool is_copied = sources.size() > 1 || wiring_.consumers(first.dequantize->outputs.front()).size() > 1;
    std::string from = store(target + "_codes", moved);
    for (const Node* each : {first.quantize, first.dequantize}) {
      if (each == nullptr) continue;
      Node node = *each;
      node.inputs = {from};
      node.inputs.insert(node.inputs.end(), parameters.begin(), parameters.end());
      node.outputs = {each == first.dequantize ? target : names_.fresh(target + "_quantized")};
      if (is_copied) node.name = names_.fresh(each->name + "_moved");
      for (const char* attribute : {"axis", "block_size"}) node.attributes.erase(attribute);
      if (layout.axis) node.attributes["axis"] = *layout.axis;
      if (layout.block != 0) {
        node.attributes["block_size"] = layout.block;
        node.domain = "com.microsoft";  // there the reference takes blocks whatever the opset
        result_.opsets.try_emplace("com.microsoft", 1);
      }
      from = node.outputs.front();
      made.push_back(std::move(node));
    }
    return true;
  }

  /// Scales or zero points of all sources, those that `layout` picks: constants, or codes with one scale.
  std::optional<std::string> picked_parameter(const std::vector<Source>& sources, std::size_t input,
                                              const ScaleLayout& layout, std::vector<Node>& made) {
    const std::string name(sources.front().dequantize->input(input));
    const Node* coded = maker(name);
    const bool is_coded = coded != nullptr && dequantizes(*coded);
    if (name.empty() || (is_coded && sources.size() > 1)) return name.empty() ? std::optional(name) : std::nullopt;
    std::vector<TensorPtr> parts;
    std::int64_t count = 0;
    for (const Source& source : sources) {
      parts.push_back(find_constant(constants_, is_coded ? coded->input(0) : source.dequantize->input(input)));
      if (parts.back() == nullptr || parts.back()->type() != parts.front()->type() ||
          parts.back()->size() != source.scale->size())
        return std::nullopt;
      count += parts.back()->size();
    }
    const Tensor all = joined(parts, count);
    const auto pick = [&](auto values) {
      std::vector<typename decltype(values)::value_type> picked;
      for (const std::int64_t i : layout.picks) picked.push_back(values[reference::at(i)]);
      return Tensor(all.type(), layout.shape, std::move(picked));
    };
    std::string stored = store(name + "_moved", all.is_real() ? pick(all.to_reals()) : pick(all.to_integers()));
    if (!is_coded) return stored;
    Node copy = *coded;
    copy.inputs[0] = std::move(stored);
    copy.outputs = {names_.fresh(name + "_moved")};
    copy.name = copy.outputs.front();
    made.push_back(copy);
    return copy.outputs.front();
  }

  static Tensor joined(const std::vector<TensorPtr>& parts, std::int64_t count) {
    if (parts.front()->is_real()) {
      std::vector<double> values;
      for (const TensorPtr& part : parts) std::ranges::copy(part->reals(), std::back_inserter(values));
      return {parts.front()->type(), {count}, std::move(values)};
    }
    std::vector<std::int64_t> values;
    for (const TensorPtr& part : parts) std::ranges::copy(part->integers(), std::back_inserter(values));
    return {parts.front()->type(), {count}, std::move(values)};
  }

  /// What `move` makes of `values` in place of those that it moves.
  [[nodiscard]] std::optional<std::vector<Tensor>> move_all(const Node& move, std::vector<const Tensor*> values) const {
    std::vector<TensorPtr> held;
    for (std::size_t i = values.size(); i < move.inputs.size(); ++i) {
      held.push_back(find_constant(constants_, move.inputs[i]));
      if (held.back() == nullptr && !move.inputs[i].empty()) return std::nullopt;
      values.push_back(held.back().get());
    }
    auto outputs = reference::execute_node(move, result_.opset(), values);
    if (!outputs || outputs->size() < move.outputs.size()) return std::nullopt;
    return *std::move(outputs);
  }
};

/// A node that moves reads what a DequantizeLinear makes of a constant: few artifacts have one, and the others aren't
/// copied.
bool moves_values_of_codes(const model::Graph& graph) {
  std::set<std::string_view> calibrated, made;
  for (const Node& node : graph.nodes) {
    if (node.outputs.empty()) continue;
    if (node.op_type == "QuantizeLinear" && !graph.initializers.contains(std::string(node.input(0))))
      calibrated.insert(node.outputs.front());
    if (dequantizes(node) && !calibrated.contains(node.input(0))) made.insert(node.outputs.front());
  }
  return std::ranges::any_of(graph.nodes,
                             [&](const Node& node) { return may_move(node) && made.contains(node.input(0)); });
}

/// Codes of a constant that are moved before a DequantizeLinear reads them, as the constant that they are then. Null
/// where there are none.
std::shared_ptr<const model::Model> with_codes_in_place(const model::Model& artifact) {
  Constants constants = constants_of(artifact.graph);
  const model::Wiring wiring(artifact.graph);
  std::map<std::string, TensorPtr> moved;
  const auto is_read_as_codes = [&](const std::string& output) {
    return !wiring.is_output(output) && std::ranges::all_of(wiring.consumers(output), [&](std::size_t reader) {
      const Node& node = artifact.graph.nodes[reader];
      return node.input(0) == output && (dequantizes(node) || may_move(node));
    });
  };
  const auto moves_codes = [&](const Node& node) {
    const TensorPtr codes = may_move(node) ? find_constant(constants, node.input(0)) : nullptr;
    return codes != nullptr && !codes->is_real() && core::is_code_type(codes->type()) && node.outputs.size() == 1 &&
           is_read_as_codes(node.outputs.front());
  };
  for (const Node& node : artifact.graph.nodes) {
    if (!moves_codes(node)) continue;
    std::vector<TensorPtr> held;
    std::vector<const Tensor*> inputs;
    for (const std::string& input : node.inputs) {
      held.push_back(find_constant(constants, input));
      inputs.push_back(held.back().get());
    }
    const bool known = std::ranges::none_of(node.inputs, [&](const std::string& input) {
      return !input.empty() && find_constant(constants, input) == nullptr;
    });
    auto outputs = known ? reference::execute_node(node, artifact.opset(), inputs)
                         : core::Result<std::vector<Tensor>>(core::Error{});
    if (!outputs) continue;
    const std::string& output = node.outputs.front();
    moved[output] = constants[output] = std::make_shared<const Tensor>(std::move(outputs->front()));
  }
  if (moved.empty()) return nullptr;
  auto result = std::make_shared<model::Model>(artifact);
  std::erase_if(result->graph.nodes,
                [&](const Node& node) { return !node.outputs.empty() && moved.contains(node.outputs.front()); });
  for (auto& [name, codes] : moved) result->graph.initializers[name] = std::move(codes);
  return result;
}

}  // namespace

std::shared_ptr<const model::Model> with_moved_constants(std::shared_ptr<const model::Model> artifact) {
  if (auto in_place = with_codes_in_place(*artifact)) artifact = std::move(in_place);
  while (moves_values_of_codes(artifact->graph)) {
    auto moved = Mover(*artifact).write();
    if (!moved) break;
    artifact = std::make_shared<const model::Model>(*std::move(moved));
  }
  return artifact;
}

}  // namespace assay::judge
