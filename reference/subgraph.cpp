#include "reference/subgraph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

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

}  // namespace assay::reference
