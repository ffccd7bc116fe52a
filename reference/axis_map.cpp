#include "reference/axis_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

template <typename Value>
struct Walk {
  std::span<const Value> source;
  const AxisMap& map;
  Value fill;
  std::vector<Value> result;

  void axis(std::size_t number, std::int64_t base, bool outside) {
    const std::vector<std::int64_t>& table = map.axes[number];
    const bool innermost = number + 1 == map.axes.size();
    for (const std::int64_t offset : table) {
      const bool out = outside || offset == AxisMap::kOutside;
      if (!innermost) {
        axis(number + 1, base + offset, out);
      } else {
        result.push_back(out ? fill : source[at(base + offset)]);
      }
    }
  }

  std::vector<Value> run(std::int64_t count) {
    result.reserve(at(count));
    if (map.axes.empty()) {
      result.push_back(source[0]);
    } else if (count > 0) {
      axis(0, 0, false);
    }
    return std::move(result);
  }
};

template <typename Value>
void copy_blocks(std::span<const Value> from, std::int64_t block, std::vector<Value>& to, std::int64_t first,
                 std::int64_t pitch) {
  if (block == 0) return;
  const std::int64_t blocks = static_cast<std::int64_t>(from.size()) / block;
  for (std::int64_t i = 0; i < blocks; ++i) {
    std::copy_n(from.begin() + i * block, block, to.begin() + first + i * pitch);
  }
}

}  // namespace

AxisMap AxisMap::identity(const Shape& shape) {
  AxisMap map;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::int64_t>& table = map.axes.emplace_back(at(shape[axis]));
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int64_t>(i) * strides[axis];
  }
  return map;
}

Result<Tensor> take(const Tensor& source, const AxisMap& map, double fill_real, std::int64_t fill_integer) {
  Shape shape;
  for (const auto& table : map.axes) shape.push_back(static_cast<std::int64_t>(table.size()));
  const auto count = checked_count(shape);
  if (!count) return count.error();
  if (source.is_real()) {
    Walk<double> walk{source.reals(), map, fill_real, {}};
    return Tensor(source.type(), shape, walk.run(*count));
  }
  Walk<std::int64_t> walk{source.integers(), map, fill_integer, {}};
  return Tensor(source.type(), shape, walk.run(*count));
}

Result<Tensor> take_range(const Tensor& source, std::int64_t axis, std::int64_t first, std::int64_t count) {
  AxisMap map = AxisMap::identity(source.shape());
  std::vector<std::int64_t>& table = map.axes[at(axis)];
  table = std::vector<std::int64_t>(table.begin() + first, table.begin() + first + count);
  return take(source, map);
}

Result<Tensor> transposed(const Tensor& source, const std::vector<std::int64_t>& perm) {
  AxisMap from = AxisMap::identity(source.shape());
  AxisMap map;
  for (const std::int64_t axis : perm) map.axes.push_back(std::move(from.axes[at(axis)]));
  return take(source, map);
}

Result<Dims> concatenated_dims(const std::vector<const Dims*>& parts, std::int64_t axis) {
  std::optional<Dims> shape;
  Dims lengths;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == nullptr) {
      lengths.emplace_back();
      continue;
    }
    if (!shape) shape = *parts[i];
    Dims others = *parts[i];
    if (others.size() == shape->size()) others[at(axis)] = (*shape)[at(axis)];
    if (!may_equal(others, *shape)) {
      return op_error(fmt::format("input {} has shape {}, which does not fit {} of the inputs before it along axis {}",
                                  i, dims_text(*parts[i]), dims_text(*shape), axis));
    }
    lengths.push_back((*parts[i])[at(axis)]);
    std::ranges::transform(*shape, others, shape->begin(), &sharper);
  }
  (*shape)[at(axis)] = sum(lengths);
  return *shape;
}

Result<Tensor> concatenated(const std::vector<const Tensor*>& parts, std::int64_t axis) {
  const Tensor& first = *parts.front();
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->type() != first.type()) {
      return op_error(fmt::format("input {} is {}, input 0 is {}; expected one type", i, tensor_text(*parts[i]),
                                  tensor_text(first)));
    }
    shapes.push_back(dims_of(parts[i]->shape()));
  }
  std::vector<const Dims*> pointers;
  pointers.reserve(shapes.size());
  for (const Dims& dims : shapes) pointers.push_back(&dims);
  const auto dims = concatenated_dims(pointers, axis);
  if (!dims) return dims.error();
  const Shape shape = *sizes(*dims);
  const auto count = checked_count(shape);
  if (!count) return count.error();
  const AxisSplit split = split_at_axis(shape, axis);
  const std::int64_t pitch = split.extent * split.inner;
  std::vector<double> reals(first.is_real() ? at(*count) : 0);
  std::vector<std::int64_t> integers(first.is_real() ? 0 : at(*count));
  std::int64_t begin = 0;
  for (const Tensor* part : parts) {
    const std::int64_t block = part->shape()[at(axis)] * split.inner;
    if (first.is_real()) {
      copy_blocks(part->reals(), block, reals, begin, pitch);
    } else {
      copy_blocks(part->integers(), block, integers, begin, pitch);
    }
    begin += block;
  }
  return first.is_real() ? Tensor(first.type(), shape, std::move(reals))
                         : Tensor(first.type(), shape, std::move(integers));
}

}  // namespace assay::reference
