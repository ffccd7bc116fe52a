#include "reference/partial_values.hpp"

#include <algorithm>

#include "reference/op_checks.hpp"

namespace assay::reference {
namespace {

/// Shapes, and what is computed on the way to them, are short.
constexpr std::int64_t kMostComputed = 1024;

bool is_small(const TensorFacts& facts) {
  const Dimension size = facts.size();
  return size.value && *size.value <= kMostComputed;
}

/// Runs the kernel on `inputs`; nothing where it fails, which is for the execution to say.
std::vector<Tensor> kernel_outputs(const OpDef& op, const ShapeCall& call, const std::vector<const Tensor*>& inputs) {
  auto outputs = op.run({.node = call.node, .opset = call.opset, .inputs = inputs});
  return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

/// Inputs that are lists or scalars of integers with their elements partly known, as tensors in which a token stands
/// for each element that is not.
struct Tokens {
  std::vector<Tensor> lists;
  std::vector<const Tensor*> inputs;
  std::vector<Dimension> meanings;  ///< of token 0, 1, …
  std::int64_t first = 0;

  [[nodiscard]] Dimension meaning(std::int64_t value) const {
    const std::int64_t token = value - first;
    return token >= 0 && token < static_cast<std::int64_t>(meanings.size()) ? meanings[at(token)] : known(value);
  }
};

/// Survives a Cast between int32 and int64, and no extent is as low.
constexpr std::int64_t kFirstToken = -(std::int64_t{1} << 31U);

/// Empty where an input is neither constant nor a list of integers; in `only_first`, where an input but 0 is not
/// constant.
std::optional<Tokens> tokens_of(const ShapeCall& call, bool only_first) {
  Tokens tokens{.lists = {}, .inputs = {}, .meanings = {}, .first = kFirstToken};
  tokens.lists.reserve(call.inputs.size());
  for (const TensorFacts* facts : call.inputs) {
    if (facts == nullptr || facts->value != nullptr) {
      tokens.inputs.push_back(facts == nullptr ? nullptr : facts->value.get());
      continue;
    }
    const bool is_list = facts->elements && facts->shape && facts->shape->size() <= 1 && core::is_integer(facts->type);
    if (!is_list || (only_first && facts != call.inputs.front())) return std::nullopt;
    std::vector<std::int64_t> values;
    for (const Dimension& element : *facts->elements) {
      if (!element.value) tokens.meanings.push_back(element);
      values.push_back(element.value.value_or(kFirstToken + static_cast<std::int64_t>(tokens.meanings.size()) - 1));
    }
    const auto count = static_cast<std::int64_t>(values.size());
    tokens.inputs.push_back(
        &tokens.lists.emplace_back(facts->type, facts->shape->empty() ? Shape{} : Shape{count}, std::move(values)));
  }
  return tokens;
}

void add_moved(const OpDef& op, const ShapeCall& call, std::vector<TensorFacts>& outputs) {
  const auto tokens = tokens_of(call, op.data == DataFlow::moves_first);
  if (!tokens) return;
  const std::vector<Tensor> values = kernel_outputs(op, call, tokens->inputs);
  for (std::size_t i = 0; i < std::min(values.size(), outputs.size()); ++i) {
    if (values[i].is_real() || values[i].rank() > 1) continue;
    Dims& elements = outputs[i].elements.emplace();
    for (const std::int64_t value : values[i].integers()) elements.push_back(tokens->meaning(value));
  }
}

/// Lists as long as the result or of one element: element i of the result is known where that of each input is.
void add_elementwise(const OpDef& op, const ShapeCall& call, std::vector<TensorFacts>& outputs) {
  if (outputs.size() != 1 || !outputs[0].shape || outputs[0].shape->size() > 1) return;
  auto tokens = tokens_of(call, false);
  if (!tokens) return;
  std::vector<std::vector<bool>> unknown;
  for (Tensor& list : tokens->lists) {
    std::vector<bool>& flags = unknown.emplace_back();
    for (std::int64_t& value : list.integers()) {
      flags.push_back(!tokens->meaning(value).value);
      if (flags.back()) value = 1;  // divides everything and is no index out of range
    }
  }
  const std::vector<Tensor> values = kernel_outputs(op, call, tokens->inputs);
  if (values.size() != 1 || values[0].is_real()) return;
  Dims& elements = outputs[0].elements.emplace();
  for (std::size_t i = 0; i < values[0].integers().size(); ++i) {
    const bool open =
        std::ranges::any_of(unknown, [&](const std::vector<bool>& flags) { return flags[flags.size() == 1 ? 0 : i]; });
    elements.push_back(open ? Dimension() : known(values[0].integers()[i]));
  }
}

/// Lists of which every element is known become values.
void settle(std::vector<TensorFacts>& outputs) {
  for (TensorFacts& facts : outputs) {
    if (facts.value != nullptr || !facts.elements || !facts.shape || !core::is_integer(facts.type)) continue;
    const auto shape = sizes(*facts.shape);
    auto values = sizes(*facts.elements);
    if (!shape || !values || core::element_count(*shape) != static_cast<std::int64_t>(values->size())) continue;
    facts.value = std::make_shared<const Tensor>(facts.type, *shape, std::move(*values));
    facts.elements.reset();
  }
}

}  // namespace

void add_values(const OpDef& op, const ShapeCall& call, std::vector<TensorFacts>& outputs) {
  const bool has_subgraph = std::ranges::any_of(call.node.attributes, [](const auto& attribute) {
    return std::holds_alternative<model::GraphPtr>(attribute.second);
  });
  if (has_subgraph || outputs.empty() || !std::ranges::all_of(outputs, is_small)) return;
  const auto constant = [](const TensorFacts* facts) {
    return facts == nullptr || (facts->value != nullptr && facts->value->size() <= kMostComputed);
  };
  if (!std::ranges::all_of(call.inputs, constant)) {
    const bool small = std::ranges::all_of(call.inputs, [](const auto* facts) { return !facts || is_small(*facts); });
    if (small && op.data == DataFlow::elementwise) {
      add_elementwise(op, call, outputs);
    } else if (small && op.data != DataFlow::opaque) {
      add_moved(op, call, outputs);
    }
    return settle(outputs);
  }
  std::vector<const Tensor*> inputs;
  for (const TensorFacts* facts : call.inputs) inputs.push_back(facts == nullptr ? nullptr : facts->value.get());
  std::vector<Tensor> values = kernel_outputs(op, call, inputs);
  for (std::size_t i = 0; i < std::min(values.size(), outputs.size()); ++i) {
    if (outputs[i].value == nullptr) outputs[i].value = std::make_shared<const Tensor>(std::move(values[i]));
  }
}

}  // namespace assay::reference
