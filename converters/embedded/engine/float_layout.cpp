// Operators that only move elements; they take any element type, so the integer forms use them too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

Status need_data(const Call& call) {
  return call.has(0) ? core::success() : Status(invalid_model("input 0 is left out, but required"));
}

Result<Kernel> make_concat(const Binding& binding) {
  return Kernel([axis = binding.node.int_or("axis", 0)](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    const Buffer& first = call.input(0);
    const auto resolved = resolve_axis(axis, first.rank());
    if (!resolved) return resolved.error();
    const auto d = static_cast<std::size_t>(*resolved);
    Shape shape = first.shape();
    shape[d] = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!call.has(i)) return invalid_model(fmt::format("input {} is left out, but required", i));
      const Buffer& next = call.input(i);
      Shape same = next.shape();
      if (same.size() == shape.size()) same[d] = first.shape()[d];
      if (same != first.shape() || next.type() != first.type()) {
        return invalid_data(fmt::format("input {} is {} of {}, input 0 is {} of {}: they differ off axis {}", i,
                                        core::shape_text(next.shape()), core::dtype_name(next.type()),
                                        core::shape_text(first.shape()), core::dtype_name(first.type()), axis));
      }
      shape[d] += next.shape()[d];
    }
    call.outputs[0] = Buffer(first.type(), shape);
    const std::int64_t outer =
        std::accumulate(shape.begin(), shape.begin() + *resolved, std::int64_t{1}, std::multiplies{});
    with_element_width(first.type(), [&](auto element) {
      using Element = decltype(element);
      const std::int64_t row = outer == 0 ? 0 : call.outputs[0].size() / outer;
      std::int64_t at = 0;
      for (const Buffer* input : call.inputs) {
        const std::int64_t length = outer == 0 ? 0 : input->size() / outer;
        for (std::int64_t o = 0; o < outer; ++o) {
          std::copy_n(input->data<Element>() + o * length, length, call.outputs[0].data<Element>() + o * row + at);
        }
        at += length;
      }
    });
    return core::success();
  });
}

/// Part of a tensor from `start` along each dimension, by `step`, of the output's extents.
void take(const Buffer& in, std::span<const std::int64_t> start, std::span<const std::int64_t> step, Buffer& out) {
  auto strides = row_major_strides(in.shape());
  std::int64_t base = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    base += start[d] * strides[d];
    strides[d] *= step[d];
  }
  copy_strided(in, base, strides, out);
}

Result<Kernel> make_split(const Binding& binding) {
  const std::int64_t axis = binding.node.int_or("axis", 0);
  return Kernel([axis, sizes = binding.node.ints_or("split")](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    const Buffer& x = call.input(0);
    const auto resolved = resolve_axis(axis, x.rank());
    if (!resolved) return resolved.error();
    const auto d = static_cast<std::size_t>(*resolved);
    const std::int64_t extent = x.shape()[d];
    auto parts = list_operand(call, 1, sizes);
    if (!parts) return parts.error();
    const auto count = std::ssize(call.outputs);
    if (parts->empty()) {
      // Equal parts; with num_outputs (Split-18) the last one may be smaller.
      const std::int64_t chunk = (extent + count - 1) / count;
      for (std::int64_t i = 0; i < count; ++i) {
        parts->push_back(std::clamp<std::int64_t>(extent - i * chunk, 0, chunk));
      }
    }
    if (std::ssize(*parts) != count || std::accumulate(parts->begin(), parts->end(), std::int64_t{0}) != extent) {
      return invalid_data(fmt::format("split sizes do not make up {} in {} outputs", extent, count));
    }
    std::vector<std::int64_t> start(x.shape().size(), 0);
    const std::vector<std::int64_t> step(x.shape().size(), 1);
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      Shape shape = x.shape();
      shape[d] = (*parts)[i];
      if (shape[d] < 0) return invalid_data("a split size is negative");
      call.outputs[i] = Buffer(x.type(), shape);
      take(x, start, step, call.outputs[i]);
      start[d] += shape[d];
    }
    return core::success();
  });
}

Result<Kernel> make_slice(const Binding& binding) {
  const Node& node = binding.node;
  return Kernel([starts = node.ints_or("starts"), ends = node.ints_or("ends"),
                 axes = node.ints_or("axes")](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    const Buffer& x = call.input(0);
    auto first = list_operand(call, 1, starts);
    auto last = list_operand(call, 2, ends);
    auto along = list_operand(call, 3, axes);
    auto by = list_operand(call, 4, {});
    for (const auto* list : {&first, &last, &along, &by}) {
      if (!*list) return list->error();
    }
    if (along->empty()) {
      along->resize(first->size());
      std::iota(along->begin(), along->end(), 0);
    }
    if (by->empty()) by->assign(first->size(), 1);
    if (last->size() != first->size() || along->size() != first->size() || by->size() != first->size()) {
      return invalid_data("starts, ends, axes and steps differ in length");
    }
    std::vector<std::int64_t> start(x.shape().size(), 0), step(x.shape().size(), 1);
    Shape shape = x.shape();
    for (std::size_t i = 0; i < first->size(); ++i) {
      const auto resolved = resolve_axis((*along)[i], x.rank());
      if (!resolved) return resolved.error();
      const auto d = static_cast<std::size_t>(*resolved);
      const std::int64_t extent = x.shape()[d];
      const std::int64_t stride = (*by)[i];
      if (stride == 0) return invalid_data("a step of Slice is 0");
      const auto wrapped = [&](std::int64_t at) { return at < 0 ? at + extent : at; };
      // Slice-13: clamped to [0, extent] going up, to [0, extent-1] and [-1, extent-1] going down.
      std::int64_t begin = wrapped((*first)[i]);
      std::int64_t end = wrapped((*last)[i]);
      begin = std::clamp<std::int64_t>(begin, 0, stride > 0 ? extent : std::max<std::int64_t>(extent - 1, 0));
      end = stride > 0 ? std::clamp<std::int64_t>(end, 0, extent) : std::clamp<std::int64_t>(end, -1, extent - 1);
      const std::int64_t span = stride > 0 ? end - begin : begin - end;
      const std::int64_t size = std::abs(stride);
      start[d] = begin;
      step[d] = stride;
      shape[d] = span <= 0 ? 0 : (span + size - 1) / size;
    }
    call.outputs[0] = Buffer(x.type(), shape);
    take(x, start, step, call.outputs[0]);
    return core::success();
  });
}

Result<Kernel> make_transpose(const Binding& binding) {
  return Kernel([perm = binding.node.ints_or("perm")](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    const Buffer& x = call.input(0);
    std::vector<std::int64_t> order = perm;
    if (order.empty()) {
      for (std::int64_t d = x.rank(); d-- > 0;) order.push_back(d);
    }
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> all(x.shape().size());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) return invalid_model(fmt::format("perm is no permutation of {} dimensions", x.rank()));
    const auto strides = row_major_strides(x.shape());
    Shape shape;
    std::vector<std::int64_t> steps;
    for (const std::int64_t d : order) {
      shape.push_back(x.shape()[static_cast<std::size_t>(d)]);
      steps.push_back(strides[static_cast<std::size_t>(d)]);
    }
    call.outputs[0] = Buffer(x.type(), shape);
    copy_strided(x, 0, steps, call.outputs[0]);
    return core::success();
  });
}

Result<Kernel> make_expand(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    auto wanted = list_operand(call, 1, {});
    if (!wanted) return wanted.error();
    const Buffer& x = call.input(0);
    const std::array<const Shape*, 2> shapes{&x.shape(), &*wanted};
    auto walk = Broadcast::of(shapes);
    if (!walk) return walk.error();
    const auto own = row_major_strides(x.shape());
    std::vector<std::int64_t> strides(walk->shape().size(), 0);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (x.shape()[i] != 1) strides[strides.size() - own.size() + i] = own[i];
    }
    call.outputs[0] = Buffer(x.type(), walk->shape());
    copy_strided(x, 0, strides, call.outputs[0]);
    return core::success();
  });
}

Result<Kernel> make_tile(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    auto repeats = list_operand(call, 1, {});
    if (!repeats) return repeats.error();
    const Buffer& x = call.input(0);
    if (repeats->size() != x.shape().size()) return invalid_data("repeats must have one number per dimension");
    // Seen as [repeat, extent] pairs, a tiling is an expansion.
    Shape split, tiled;
    std::vector<std::int64_t> strides;
    const auto own = row_major_strides(x.shape());
    for (std::size_t d = 0; d < repeats->size(); ++d) {
      if ((*repeats)[d] < 0) return invalid_data("a repeat is negative");
      split.insert(split.end(), {(*repeats)[d], x.shape()[d]});
      strides.insert(strides.end(), {0, own[d]});
      tiled.push_back((*repeats)[d] * x.shape()[d]);
    }
    Buffer out(x.type(), split);
    copy_strided(x, 0, strides, out);
    call.outputs[0] = out.reshaped(tiled);
    return core::success();
  });
}

Result<Kernel> make_gather(const Binding& binding) {
  return Kernel([axis = binding.node.int_or("axis", 0)](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1)) return invalid_model("data and indices are required");
    const Buffer& x = call.input(0);
    const auto resolved = resolve_axis(axis, x.rank());
    if (!resolved) return resolved.error();
    const auto d = static_cast<std::size_t>(*resolved);
    const std::int64_t extent = x.shape()[d];
    std::vector<std::int64_t> indices = call.input(1).to_integers();
    for (std::int64_t& index : indices) {
      if (index < -extent || index >= extent) {
        return invalid_data(fmt::format("index {} is outside an extent of {}", index, extent));
      }
      if (index < 0) index += extent;
    }
    Shape shape(x.shape().begin(), x.shape().begin() + *resolved);
    const std::int64_t outer = core::element_count(shape);
    shape.insert(shape.end(), call.input(1).shape().begin(), call.input(1).shape().end());
    const Shape rest(x.shape().begin() + *resolved + 1, x.shape().end());
    const std::int64_t inner = core::element_count(rest);
    shape.insert(shape.end(), rest.begin(), rest.end());
    call.outputs[0] = Buffer(x.type(), shape);
    with_element_width(x.type(), [&](auto element) {
      using Element = decltype(element);
      auto* out = call.outputs[0].data<Element>();
      for (std::int64_t o = 0; o < outer; ++o) {
        for (const std::int64_t index : indices) {
          std::copy_n(x.data<Element>() + (o * extent + index) * inner, inner, out);
          out += inner;
        }
      }
    });
    return core::success();
  });
}

/// DepthToSpace and SpaceToDepth are a reshape, a transposition and a reshape.
Result<Kernel> make_block(const Binding& binding) {
  const std::int64_t block = binding.node.int_or("blocksize", 0);
  const bool to_space = binding.node.op_type == "DepthToSpace";
  const bool by_column = binding.node.string_or("mode", "DCR") == "CRD";
  if (block < 1) return invalid_model("blocksize must be positive");
  return Kernel([block, to_space, by_column](const Call& call) -> Status {
    if (auto status = need_data(call); !status) return status;
    const Buffer& x = call.input(0);
    if (x.rank() != 4) return invalid_data("the input must have four dimensions");
    const std::int64_t n = x.shape()[0], c = x.shape()[1], h = x.shape()[2], w = x.shape()[3];
    if (to_space ? c % (block * block) != 0 : (h % block != 0 || w % block != 0)) {
      return invalid_data(fmt::format("blocks of {} do not fit {}", block, core::shape_text(x.shape())));
    }
    const std::int64_t deep = to_space ? c / (block * block) : c;
    Shape split;
    std::vector<std::size_t> order;
    Shape shape;
    if (to_space) {
      split = by_column ? Shape{n, deep, block, block, h, w} : Shape{n, block, block, deep, h, w};
      order = by_column ? std::vector<std::size_t>{0, 1, 4, 2, 5, 3} : std::vector<std::size_t>{0, 3, 4, 1, 5, 2};
      shape = {n, deep, h * block, w * block};
    } else {
      split = {n, c, h / block, block, w / block, block};
      order = {0, 3, 5, 1, 2, 4};
      shape = {n, c * block * block, h / block, w / block};
    }
    const auto strides = row_major_strides(split);
    Shape moved;
    std::vector<std::int64_t> steps;
    for (const std::size_t d : order) {
      moved.push_back(split[d]);
      steps.push_back(strides[d]);
    }
    Buffer out(x.type(), moved);
    copy_strided(x, 0, steps, out);
    call.outputs[0] = out.reshaped(shape);
    return core::success();
  });
}

}  // namespace

void add_layout_makers(MakerTable& table) {
  table["Concat"] = &make_concat;
  table["Split"] = &make_split;
  table["Slice"] = &make_slice;
  table["Transpose"] = &make_transpose;
  table["Expand"] = &make_expand;
  table["Tile"] = &make_tile;
  table["Gather"] = &make_gather;
  table["DepthToSpace"] = &make_block;
  table["SpaceToDepth"] = &make_block;
}

}  // namespace assay::embedded::engine
