#include "reference/subgraph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

core::Status Stack::add(Tensor element) {
  if (!elements_.empty() &&
      (element.type() != elements_.front().type() || element.shape() != elements_.front().shape())) {
    return op_error(
        fmt::format("a scanned output is {}, before it was {}", tensor_text(element), tensor_text(elements_.front())));
  }
  count_ += element.size();
  if (count_ > kElementLimit) return op_error(fmt::format("a scanned output grows beyond {} elements", kElementLimit));
  elements_.push_back(std::move(element));
  return core::success();
}

Result<Tensor> Stack::joined(std::int64_t axis, const model::ValueInfo& declared, bool reversed) const {
  if (elements_.empty()) {
    if (declared.type == DType::undefined) return op_error("no iteration ran, and a scanned output declares no type");
    Shape shape;
    for (const model::Dimension& dimension : declared.shape.value_or(std::vector<model::Dimension>())) {
      shape.push_back(dimension.value.value_or(0));
    }
    const auto place = checked_axis(axis, static_cast<std::int64_t>(shape.size()) + 1);
    if (!place) return place.error();
    shape.insert(shape.begin() + *place, 0);
    if (const auto count = checked_count(shape); !count) return count.error();
    return Tensor::zeros(declared.type, shape);
  }
  const auto place = checked_axis(axis, elements_.front().rank() + 1);
  if (!place) return place.error();
  std::vector<Tensor> slices;
  for (const Tensor& element : elements_) {
    Shape shape = element.shape();
    shape.insert(shape.begin() + *place, 1);
    slices.push_back(element.reshaped(std::move(shape)));
  }
  std::vector<const Tensor*> parts;
  parts.reserve(slices.size());
  for (const Tensor& slice : slices) parts.push_back(&slice);
  if (reversed) std::ranges::reverse(parts);
  return concatenated(parts, *place);
}

Result<Iterated> infer_iterations(std::vector<TensorFacts> states, std::size_t first,
                                  const std::function<Result<Facts>(const Facts&)>& body_outputs) {
  for (TensorFacts& state : states) state = typed(state.type, state.shape);
  while (true) {
    auto outputs = body_outputs(states);
    if (!outputs) return outputs.error();
    bool stable = true;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const TensorFacts& next = (*outputs)[first + i];
      if (next.type != states[i].type && next.type != DType::undefined && states[i].type != DType::undefined) {
        return op_error(fmt::format("state {} is {} before an iteration and {} after it", i, facts_text(states[i]),
                                    facts_text(next)));
      }
      TensorFacts both = common(states[i], next);
      stable = stable && both.type == states[i].type && both.shape == states[i].shape;
      states[i] = std::move(both);
    }
    if (stable) return Iterated{.states = std::move(states), .outputs = std::move(*outputs)};
  }
}

Result<TensorFacts> stacked(const TensorFacts& element, std::int64_t axis, const Dimension& extent) {
  if (!element.shape) return typed(element.type, std::nullopt);
  const auto place = checked_axis(axis, *element.rank() + 1);
  if (!place) return place.error();
  Dims shape = *element.shape;
  shape.insert(shape.begin() + *place, extent);
  return typed(element.type, std::move(shape));
}

}  // namespace assay::reference
