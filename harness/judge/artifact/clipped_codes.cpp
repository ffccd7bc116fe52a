#include "harness/judge/artifact/clipped_codes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/rewriter.hpp"
#include "reference/executor.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::Tensor;
using core::TensorPtr;
using model::Node;

class Unclipper : private Rewriter {
 public:
  explicit Unclipper(const model::Model& artifact) : Rewriter(artifact) {}

  std::optional<model::Model> write() {
    bool any = false;
    std::vector<Node> nodes;
    for (const Node& node : graph_.nodes) {
      const Node* clip = clip_behind(node);
      const bool made = clip != nullptr && clips_made(*clip, node, nodes);
      const bool gone =
          made || (node.op_type == "Clip" && (renamed_.contains(node.outputs.front()) || clips_constant(node)));
      any = any || gone;
      if (!gone) nodes.push_back(node);
    }
    if (!any) return std::nullopt;
    for (Node& node : nodes) {
      for (std::string& input : node.inputs) {
        if (const auto other = renamed_.find(input); other != renamed_.end()) input = other->second;
      }
      const auto type = narrowed_.find(node.input(0));
      if (type == narrowed_.end() || node.input(2).empty()) continue;
      if (const TensorPtr zero = find_constant(constants_, node.input(2)); zero != nullptr)
        node.inputs[2] = store(node.inputs[2], Tensor(type->second, zero->shape(), zero->to_integers()));
    }
    if (!narrowed_.empty()) result_.opsets.try_emplace("com.microsoft", 1);  // has such codes in every version
    result_.graph.nodes = std::move(nodes);
    drop_unread();  // the QuantizeLinear of a constant
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool feeds_dequantizers_alone(const Node& clip) const {
    const auto& readers = wiring_.consumers(clip.outputs.front());
    return !readers.empty() && !wiring_.is_output(clip.outputs.front()) && std::ranges::all_of(readers, [&](auto i) {
      return graph_.nodes[i].op_type == "DequantizeLinear" && graph_.nodes[i].input(0) == clip.outputs.front();
    });
  }

  /// The Clip that alone reads the codes which `node`, a QuantizeLinear, makes of an activation; or null.
  [[nodiscard]] const Node* clip_behind(const Node& node) const {
    if (node.op_type != "QuantizeLinear" || find_constant(constants_, node.input(0)) != nullptr) return nullptr;
    const auto& readers = wiring_.consumers(node.outputs.front());
    if (readers.size() != 1 || wiring_.is_output(node.outputs.front())) return nullptr;
    const Node& reader = graph_.nodes[readers.front()];
    return reader.op_type == "Clip" && reader.input(0) == node.outputs.front() && feeds_dequantizers_alone(reader)
               ? &reader
               : nullptr;
  }

  /// What a node makes of constants, or nothing.
  [[nodiscard]] std::optional<Tensor> computed(const Node& node, const Tensor* first) const {
    std::vector<TensorPtr> held;
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      held.push_back(i == 0 && first != nullptr ? nullptr : find_constant(constants_, node.inputs[i]));
      inputs.push_back(i == 0 && first != nullptr ? first : held.back().get());
      if (inputs.back() == nullptr && !node.inputs[i].empty()) return std::nullopt;
    }
    auto made = reference::execute_node(node, result_.opset(), inputs);
    return made ? std::optional(std::move(made->front())) : std::nullopt;
  }

  /// The type whose codes fill the bounds of a Clip of wider codes; that of signed ones may leave its least one out.
  [[nodiscard]] std::optional<DType> type_of_bounds(const Node& clip, DType wide) const {
    const TensorPtr low = find_constant(constants_, clip.input(1)), high = find_constant(constants_, clip.input(2));
    if (low == nullptr || high == nullptr || low->size() != 1 || high->size() != 1 || !core::is_integer(low->type()))
      return std::nullopt;
    const bool is_signed = wide == DType::int8;
    for (const DType type : {is_signed ? DType::int4 : DType::uint4, is_signed ? DType::int2 : DType::uint2}) {
      const core::IntegerLimits whole = core::integer_limits(type);
      const std::int64_t least = low->to_integers().front() - whole.low;
      if (high->to_integers().front() == whole.high && (least == 0 || (is_signed && least == 1))) return type;
    }
    return std::nullopt;
  }

  /// All zero points by which a Clip's codes are read are constant and have a place in the type.
  [[nodiscard]] bool reads_as(const Node& clip, DType type) const {
    const core::IntegerLimits whole = core::integer_limits(type);
    return std::ranges::all_of(wiring_.consumers(clip.outputs.front()), [&](auto i) {
      const std::string_view name = graph_.nodes[i].input(2);
      if (name.empty()) return true;
      const TensorPtr zero = find_constant(constants_, name);
      return zero != nullptr && std::ranges::all_of(zero->to_integers(), [&](std::int64_t each) {
               return each >= whole.low && each <= whole.high;
             });
    });
  }

  /// Codes that are constant, or that a QuantizeLinear makes of a constant.
  bool clips_constant(const Node& clip) {
    if (!feeds_dequantizers_alone(clip)) return false;
    const auto maker = wiring_.producer(clip.inputs.front());
    const TensorPtr stored = find_constant(constants_, clip.input(0));
    std::optional<Tensor> codes;
    if (stored != nullptr) codes = *stored;
    if (maker && graph_.nodes[*maker].op_type == "QuantizeLinear") codes = computed(graph_.nodes[*maker], nullptr);
    if (!codes) return false;
    auto clipped = computed(clip, &*codes);
    if (!clipped) return false;
    if (const auto type = type_of_bounds(clip, codes->type()); type && reads_as(clip, *type)) {
      narrowed_[clip.outputs.front()] = *type;
      result_.graph.initializers[clip.outputs.front()] =
          std::make_shared<const Tensor>(*type, clipped->shape(), clipped->to_integers());
    } else if (*clipped == *codes) {
      renamed_[clip.outputs.front()] = clip.inputs.front();
    } else {
      result_.graph.initializers[clip.outputs.front()] = std::make_shared<const Tensor>(*std::move(clipped));
    }
    return true;
  }

  /// Writes the quantizer with bounds in front of it, where it has one scale.
  bool clips_made(const Node& clip, Node quantize, std::vector<Node>& nodes) {
    const auto params = read_quant_params(quantize, constants_);
    if (!params || params->scale.size() != 1 || core::is_real(params->type)) return false;
    const core::IntegerLimits whole = core::integer_limits(params->type);
    std::array<std::int64_t, 2> bounds{whole.low, whole.high};
    for (const std::size_t i : {0U, 1U}) {
      if (clip.input(i + 1).empty()) continue;
      const TensorPtr bound = find_constant(constants_, clip.input(i + 1));
      if (bound == nullptr || bound->size() != 1 || !core::is_integer(bound->type())) return false;
      bounds[i] = bound->to_integers().front();
    }
    renamed_[clip.outputs.front()] = clip.inputs.front();
    if (bounds[0] > whole.low || bounds[1] < whole.high) {
      Node before{clip.name, "Clip", "", {quantize.inputs.front()}, {names_.fresh(clip.outputs.front() + "_values")},
                  {}};
      for (const std::int64_t bound : bounds) {
        const double value = reference::dequantize(bound, params->scale.front(), params->zero_point.front());
        before.inputs.push_back(store(clip.name + "_bound", Tensor::scalar(core::DType::float32, value)));
      }
      quantize.inputs.front() = before.outputs.front();
      nodes.push_back(std::move(before));
    }
    nodes.push_back(std::move(quantize));
    return true;
  }

  std::map<std::string, std::string, std::less<>> renamed_;
  std::map<std::string, DType, std::less<>> narrowed_;  ///< constant codes that have a type of fewer bits now
};

}  // namespace

std::shared_ptr<const model::Model> with_clips_before_codes(std::shared_ptr<const model::Model> artifact) {
  std::set<std::string_view> dequantized;
  for (const Node& node : artifact->graph.nodes)
    if (node.op_type == "DequantizeLinear") dequantized.insert(node.input(0));
  const bool any = std::ranges::any_of(artifact->graph.nodes, [&](const Node& node) {
    return node.op_type == "Clip" && !node.outputs.empty() && dequantized.contains(node.outputs.front());
  });
  if (!any) return artifact;
  auto written = Unclipper(*artifact).write();
  return written ? std::make_shared<const model::Model>(*std::move(written)) : artifact;
}

}  // namespace assay::judge
