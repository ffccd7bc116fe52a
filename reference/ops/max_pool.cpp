#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/op_checks.hpp"
#include "reference/pooling.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// The index of each plane's elements in the whole tensor, column-major along the spatial axes when storage_order is 1.
std::int64_t flat_index(const Windows& windows, std::int64_t plane, std::int64_t offset, bool column_major) {
  if (column_major) {
    const Extents& in = windows.input;
    const std::int64_t x = offset % in[2];
    const std::int64_t y = offset / in[2] % in[1];
    const std::int64_t z = offset / (in[2] * in[1]);
    // Extents before the node's own axes are 1, so that this holds for every rank.
    offset = z + in[0] * (y + in[1] * x);
  }
  return plane * volume(windows.input) + offset;
}

template <typename T>
struct Pooled {
  std::vector<T> values;
  std::vector<std::int64_t> indices;
};

template <typename T>
bool is_larger(T value, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    return value > best || (std::isnan(value) && !std::isnan(best));
  } else {
    return value > best;
  }
}

template <typename T>
Pooled<T> pool(const Windows& windows, std::span<const T> x, std::int64_t planes, bool column_major) {
  Pooled<T> result;
  const std::int64_t out_plane = volume(windows.output);
  result.values.resize(at(planes * out_plane));
  result.indices.resize(at(planes * out_plane));
  const auto views = axis_views(windows);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const T* in = x.data() + plane * volume(windows.input);
    for_each_window(views, [&](std::int64_t position, const WindowView& window) {
      std::int64_t best = -1;
      for_each_element(windows, window, [&](std::int64_t offset) {
        if (best < 0 || is_larger(in[offset], in[best])) {
          best = offset;
        }
      });
      result.values[at(plane * out_plane + position)] = in[best];
      result.indices[at(plane * out_plane + position)] = flat_index(windows, plane, best, column_major);
    });
  }
  return result;
}

bool has_empty_window(const Windows& windows) {
  for (const std::vector<AxisView>& axis : axis_views(windows)) {
    if (std::any_of(axis.begin(), axis.end(), [](const AxisView& view) { return view.first == view.last; })) {
      return true;
    }
  }
  return false;
}

/// ONNX MaxPool-12: outputs Y and, where it is wanted, Indices into the flattened x (the first of equal values).
Result<std::vector<Tensor>> run_max_pool(const OpCall& call) {
  const Tensor& x = call.in(0);
  const Result<Windows> windows = pool_windows(call);
  if (!windows) {
    return windows.error();
  }
  if (has_empty_window(*windows)) {
    return op_error(fmt::format("a window over {} lies wholly in the padding, which has no largest value",
                                core::shape_text(x.shape())));
  }
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  const bool column_major = call.node.int_or("storage_order", 0) != 0;
  const Shape shape = windows->output_shape(x.shape()[0], x.shape()[1]);
  if (x.is_real()) {
    Pooled<double> pooled = pool(*windows, x.reals(), planes, column_major);
    return std::vector{Tensor(x.type(), shape, std::move(pooled.values)),
                       Tensor(DType::int64, shape, std::move(pooled.indices))};
  }
  Pooled<std::int64_t> pooled = pool(*windows, x.integers(), planes, column_major);
  return std::vector{Tensor(x.type(), shape, std::move(pooled.values)),
                     Tensor(DType::int64, shape, std::move(pooled.indices))};
}

Result<Facts> infer_max_pool(const ShapeCall& call) {
  Result<Facts> outputs = infer_pool(call);
  if (outputs) {
    outputs->push_back(typed(DType::int64, outputs->front().shape));
  }
  return outputs;
}

}  // namespace

const OpDef& op_max_pool() {
  static const OpDef def{.name = "MaxPool", .run = &run_max_pool, .infer = &infer_max_pool};
  return def;
}

}  // namespace assay::reference
