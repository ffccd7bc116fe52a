#include "reference/element_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/broadcast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

core::Error index_outside(std::int64_t index, std::int64_t axis, const Tensor& data) {
  return op_error(fmt::format("index {} is outside of extent {} of axis {} of {}", index, data.shape()[at(axis)], axis,
                              tensor_text(data)));
}

/// `index` counted from the front, or nothing.
std::optional<std::int64_t> within(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) return std::nullopt;
  return index < 0 ? index + extent : index;
}

template <typename Value>
Value combined(Value old, Value update, std::string_view reduction) {
  if (reduction == "add") return plus(old, update);
  if (reduction == "mul") return times(old, update);
  if (reduction == "min") return lesser(old, update);
  if (reduction == "max") return larger(old, update);
  return update;
}

}  // namespace

Result<std::vector<std::int64_t>> positions_along_axis(const OpCall& call) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  const auto axis = checked_axis(call.node.int_or("axis", 0), data.rank());
  if (!axis) return axis.error();
  bool fits = indices.rank() == data.rank();
  for (std::int64_t i = 0; fits && i < data.rank(); ++i) {
    fits = i == *axis || indices.shape()[at(i)] <= data.shape()[at(i)];
  }
  if (!fits) {
    return op_error(
        fmt::format("indices {} do not fit {} along axis {}", tensor_text(indices), tensor_text(data), *axis));
  }
  // Walk over the indices with the data's strides; along the axis the index itself decides.
  std::vector<std::int64_t> strides = row_major_strides(data.shape());
  const std::int64_t step = strides[at(*axis)];
  const std::int64_t extent = data.shape()[at(*axis)];
  strides[at(*axis)] = 0;
  std::vector<std::int64_t> positions(indices.integers().size());
  std::optional<std::int64_t> wrong;
  for_each_broadcast<1>(indices.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& base) {
    const std::int64_t index = indices.integers()[at(i)];
    const auto inside = within(index, extent);
    if (!inside && !wrong) wrong = index;
    positions[at(i)] = base[0] + inside.value_or(0) * step;
  });
  if (wrong) return index_outside(*wrong, *axis, data);
  return positions;
}

Result<std::optional<Dims>> blocks_dims(const ShapeCall& call, std::int64_t batch_axes) {
  const auto& data = call.in(0).shape;
  const auto& indices = call.in(1).shape;
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  if (const auto rank = require_least_rank(call, 1, 1); !rank) return rank.error();
  if (!data || !indices || !indices->back().value) return std::optional<Dims>();
  const std::int64_t depth = *indices->back().value;
  const std::int64_t rank = *call.in(0).rank();
  if (batch_axes < 0 || batch_axes >= *call.in(1).rank() || depth < 1 || depth > rank - batch_axes) {
    return op_error(fmt::format("indices {} do not fit {} with {} batch axes", facts_text(call.in(1)),
                                facts_text(call.in(0)), batch_axes));
  }
  Dims shape(indices->begin(), indices->end() - 1);
  shape.insert(shape.end(), data->begin() + batch_axes + depth, data->end());
  return std::optional(std::move(shape));
}

Result<Facts> infer_scatter_along_axis(const ShapeCall& call) {
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  if (const auto axis = axis_argument(call, "axis", 0); !axis) return axis.error();
  if (const auto same = require_same_type(call, 0, 2); !same) return same.error();
  if (call.in(1).shape) {
    if (const auto same = require_shape(call, 2, *call.in(1).shape); !same) return same.error();
  }
  return infer_same(call);
}

Result<Blocks> blocks_at(const OpCall& call, std::int64_t batch_axes) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  const bool batched = batch_axes >= 0 && batch_axes < indices.rank() && batch_axes <= data.rank() &&
                       std::equal(data.shape().begin(), data.shape().begin() + batch_axes, indices.shape().begin());
  const std::int64_t depth = indices.rank() > 0 ? indices.shape().back() : 0;
  if (!batched || depth < 1 || depth > data.rank() - batch_axes) {
    return op_error(fmt::format("indices {} do not fit {} with {} batch axes", tensor_text(indices), tensor_text(data),
                                batch_axes));
  }
  const std::vector<std::int64_t> strides = row_major_strides(data.shape());
  Blocks blocks;
  blocks.shape.assign(data.shape().begin() + batch_axes + depth, data.shape().end());
  blocks.size = core::element_count(blocks.shape);
  const std::span<const std::int64_t> extents(data.shape());
  const std::int64_t batches = core::element_count(extents.first(at(batch_axes)));
  const std::int64_t batch_size = core::element_count(extents.subspan(at(batch_axes)));
  const std::int64_t tuples = indices.size() / depth;
  for (std::int64_t tuple = 0; tuple < tuples; ++tuple) {
    std::int64_t begin = tuple / (tuples / batches) * batch_size;
    for (std::int64_t i = 0; i < depth; ++i) {
      const std::int64_t axis = batch_axes + i;
      const std::int64_t index = indices.integers()[at(tuple * depth + i)];
      const auto inside = within(index, data.shape()[at(axis)]);
      if (!inside) return index_outside(index, axis, data);
      begin += *inside * strides[at(axis)];
    }
    blocks.begin.push_back(begin);
  }
  return blocks;
}

Tensor elements_at(const Tensor& data, const std::vector<std::int64_t>& positions, Shape shape) {
  if (data.is_real()) {
    std::vector<double> values(positions.size());
    std::ranges::transform(positions, values.begin(), [&](std::int64_t i) { return data.reals()[at(i)]; });
    return {data.type(), std::move(shape), std::move(values)};
  }
  std::vector<std::int64_t> values(positions.size());
  std::ranges::transform(positions, values.begin(), [&](std::int64_t i) { return data.integers()[at(i)]; });
  return {data.type(), std::move(shape), std::move(values)};
}

Result<Tensor> scattered(const Tensor& data, const std::vector<std::int64_t>& positions, const Tensor& updates,
                         const std::string& reduction) {
  constexpr std::array<std::string_view, 5> kReductions{"none", "add", "mul", "min", "max"};
  if (std::ranges::find(kReductions, reduction) == kReductions.end()) {
    return op_error(fmt::format("reduction is \"{}\", expected none, add, mul, min or max", reduction));
  }
  if (updates.type() != data.type() || updates.size() != static_cast<std::int64_t>(positions.size())) {
    return op_error(fmt::format("updates {} do not fit {} and its {} indexed elements", tensor_text(updates),
                                tensor_text(data), positions.size()));
  }
  Tensor result = data;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (data.is_real()) {
      double& value = result.reals()[at(positions[i])];
      value = combined(value, updates.reals()[i], reduction);
    } else {
      std::int64_t& value = result.integers()[at(positions[i])];
      value = wrap(combined(value, updates.integers()[i], reduction), data.type());
    }
  }
  return result;
}

Result<std::vector<Tensor>> scatter_along_axis(const OpCall& call) {
  const Tensor& updates = call.in(2);
  if (updates.shape() != call.in(1).shape()) {
    return op_error(
        fmt::format("updates {} and indices {} differ in shape", tensor_text(updates), tensor_text(call.in(1))));
  }
  const auto to = positions_along_axis(call);
  if (!to) return to.error();
  return single_output(scattered(call.in(0), *to, updates, call.node.string_or("reduction", "none")));
}

}  // namespace assay::reference
