#include "converters/embedded/engine/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::embedded::engine {
namespace {

/// Element `index` of `values`, or `fallback` when the list is left out.
std::int64_t listed(const std::vector<std::int64_t>& values, std::size_t index, std::int64_t fallback) {
  return values.empty() ? fallback : values[index];
}

Status check_lengths(const WindowAttributes& attributes, std::size_t rank) {
  if (rank < 1 || rank > kSpatial) {
    return unsupported(fmt::format("{} spatial dimensions; the engine takes 1 to {}", rank, kSpatial));
  }
  const auto fits = [&](const std::vector<std::int64_t>& list, std::size_t length) {
    return list.empty() || list.size() == length;
  };
  if (!fits(attributes.kernel_shape, rank) || !fits(attributes.strides, rank) || !fits(attributes.dilations, rank) ||
      !fits(attributes.pads, 2 * rank) || !fits(attributes.output_padding, rank) ||
      !fits(attributes.output_shape, rank)) {
    return invalid_model(fmt::format("an attribute's length does not fit {} spatial dimensions", rank));
  }
  const auto positive = [](std::int64_t value) { return value > 0; };
  if (!std::ranges::all_of(attributes.strides, positive) || !std::ranges::all_of(attributes.dilations, positive)) {
    return invalid_model("strides and dilations must be positive");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;  // beyond it the extents below could overflow
  for (const auto* list : {&attributes.kernel_shape, &attributes.strides, &attributes.dilations, &attributes.pads,
                           &attributes.output_padding, &attributes.output_shape}) {
    if (std::ranges::any_of(*list, [](std::int64_t value) { return value > kMost || value < -kMost; })) {
      return invalid_model(fmt::format("an attribute has a value beyond {}", kMost));
    }
  }
  if (std::ranges::any_of(attributes.pads, [](std::int64_t value) { return value < 0; })) {
    return unsupported("pads are negative; use a Slice instead");
  }
  return core::success();
}

/// The extents that do not depend on padding.
Result<Window> unpadded(const WindowAttributes& attributes, std::span<const std::int64_t> in,
                        std::span<const std::int64_t> kernel) {
  if (const auto status = check_lengths(attributes, in.size()); !status) return status.error();
  Window window;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t d = kSpatial - in.size() + i;
    window.in[d] = in[i];
    window.kernel[d] = listed(attributes.kernel_shape, i, i < kernel.size() ? kernel[i] : 1);
    window.stride[d] = listed(attributes.strides, i, 1);
    window.dilation[d] = listed(attributes.dilations, i, 1);
    if (i < kernel.size() && window.kernel[d] != kernel[i]) {
      return invalid_model(fmt::format("kernel_shape has {} where the weight has {}", window.kernel[d], kernel[i]));
    }
    if (window.kernel[d] < 1) return invalid_model("kernel_shape must be positive");
  }
  return window;
}

std::int64_t spanned(const Window& window, std::size_t d) { return (window.kernel[d] - 1) * window.dilation[d] + 1; }

/// SAME padding of `total` along `d`: the smaller half goes first for SAME_UPPER, last for SAME_LOWER.
void pad_same(Window& window, std::size_t d, std::int64_t total, bool upper) {
  window.pad_begin[d] = upper ? total / 2 : total - total / 2;
  window.pad_end[d] = total - window.pad_begin[d];
}

}  // namespace

bool Window::is_pointwise() const {
  return volume(kernel) == 1 && volume(stride) == 1 && in == out && pad_begin == Extents{0, 0, 0};
}

Result<WindowAttributes> read_window_attributes(const Node& node) {
  WindowAttributes attributes;
  attributes.kernel_shape = node.ints_or("kernel_shape");
  attributes.strides = node.ints_or("strides");
  attributes.pads = node.ints_or("pads");
  attributes.dilations = node.ints_or("dilations");
  attributes.output_padding = node.ints_or("output_padding");
  attributes.output_shape = node.ints_or("output_shape");
  attributes.ceil_mode = node.int_or("ceil_mode", 0) != 0;
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER") {
    attributes.auto_pad = WindowAttributes::AutoPad::same_upper;
  } else if (auto_pad == "SAME_LOWER") {
    attributes.auto_pad = WindowAttributes::AutoPad::same_lower;
  } else if (auto_pad == "VALID") {
    attributes.auto_pad = WindowAttributes::AutoPad::valid;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return invalid_model(fmt::format("auto_pad \"{}\" is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad));
  }
  return attributes;
}

Result<Window> forward_window(const WindowAttributes& attributes, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel) {
  using AutoPad = WindowAttributes::AutoPad;
  auto made = unpadded(attributes, in, kernel);
  if (!made) return made;
  Window& window = made.value();
  const std::size_t rank = in.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = kSpatial - rank + i;
    const std::int64_t span = spanned(window, d);
    const std::int64_t stride = window.stride[d];
    if (attributes.auto_pad == AutoPad::same_upper || attributes.auto_pad == AutoPad::same_lower) {
      window.out[d] = (window.in[d] + stride - 1) / stride;
      const std::int64_t total = std::max<std::int64_t>(0, (window.out[d] - 1) * stride + span - window.in[d]);
      pad_same(window, d, total, attributes.auto_pad == AutoPad::same_upper);
      continue;
    }
    if (attributes.auto_pad == AutoPad::notset) {
      window.pad_begin[d] = listed(attributes.pads, i, 0);
      window.pad_end[d] = listed(attributes.pads, rank + i, 0);
    }
    const std::int64_t padded = window.in[d] + window.pad_begin[d] + window.pad_end[d];
    if (padded < span) {
      return invalid_data(fmt::format("a window of {} does not fit into a padded extent of {}", span, padded));
    }
    window.out[d] = (padded - span) / stride + 1;
    if (attributes.ceil_mode) {
      window.out[d] = (padded - span + stride - 1) / stride + 1;
      // A window that would start in the padding at the end is left out.
      if ((window.out[d] - 1) * stride >= window.in[d] + window.pad_begin[d]) --window.out[d];
    }
  }
  return made;
}

Result<Window> transposed_window(const WindowAttributes& attributes, std::span<const std::int64_t> in,
                                 std::span<const std::int64_t> kernel) {
  using AutoPad = WindowAttributes::AutoPad;
  auto made = unpadded(attributes, in, kernel);
  if (!made) return made;
  Window& window = made.value();
  const std::size_t rank = in.size();
  const bool same = attributes.auto_pad == AutoPad::same_upper || attributes.auto_pad == AutoPad::same_lower;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = kSpatial - rank + i;
    const std::int64_t whole =
        window.stride[d] * (window.in[d] - 1) + listed(attributes.output_padding, i, 0) + spanned(window, d);
    if (same || !attributes.output_shape.empty()) {
      window.out[d] = listed(attributes.output_shape, i, window.in[d] * window.stride[d]);
      const std::int64_t total = std::max<std::int64_t>(0, whole - window.out[d]);
      // ConvTranspose-11: the smaller half goes first for SAME_UPPER only.
      pad_same(window, d, total, attributes.auto_pad == AutoPad::same_upper);
    } else {
      if (attributes.auto_pad == AutoPad::notset) {
        window.pad_begin[d] = listed(attributes.pads, i, 0);
        window.pad_end[d] = listed(attributes.pads, rank + i, 0);
      }
      window.out[d] = whole - window.pad_begin[d] - window.pad_end[d];
    }
    if (window.out[d] < 1) return invalid_data(fmt::format("the output would have an extent of {}", window.out[d]));
  }
  return made;
}

Shape with_spatial(std::initializer_list<std::int64_t> leading, const Extents& spatial, std::size_t rank) {
  Shape shape(leading);
  shape.insert(shape.end(), spatial.end() - static_cast<std::ptrdiff_t>(rank), spatial.end());
  return shape;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}

Result<Broadcast> Broadcast::of(std::span<const Shape* const> shapes) {
  Broadcast broadcast;
  std::size_t rank = 0;
  for (const Shape* shape : shapes) rank = std::max(rank, shape->size());
  broadcast.shape_.assign(rank, 1);
  for (const Shape* shape : shapes) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const std::size_t d = rank - shape->size() + i;
      const std::int64_t extent = (*shape)[i];
      if (extent == 1 || extent == broadcast.shape_[d]) continue;
      if (broadcast.shape_[d] != 1) {
        return invalid_data(fmt::format("shapes {} and {} do not broadcast", core::shape_text(*shapes.front()),
                                        core::shape_text(*shape)));
      }
      broadcast.shape_[d] = extent;
    }
  }
  broadcast.empty_ = core::element_count(broadcast.shape_) == 0;
  std::vector<std::vector<std::int64_t>> strides;
  for (const Shape* shape : shapes) {
    const auto own = row_major_strides(*shape);
    std::vector<std::int64_t> aligned(rank, 0);
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] != 1) aligned[rank - shape->size() + i] = own[i];
    }
    strides.push_back(std::move(aligned));
  }
  // Merge from the last dimension: d joins the one after it where every operand runs on without a jump.
  std::vector<std::int64_t> extents;
  broadcast.strides_.assign(shapes.size(), {});
  for (std::size_t d = 0; d < rank; ++d) {
    if (broadcast.shape_[d] == 1) continue;
    bool joins = !extents.empty();
    for (std::size_t i = 0; joins && i < shapes.size(); ++i) {
      joins = broadcast.strides_[i].back() == strides[i][d] * broadcast.shape_[d];
    }
    if (joins) {
      extents.back() *= broadcast.shape_[d];
    } else {
      extents.push_back(broadcast.shape_[d]);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (joins) {
        broadcast.strides_[i].back() = strides[i][d];
      } else {
        broadcast.strides_[i].push_back(strides[i][d]);
      }
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    for (auto& stride : broadcast.strides_) stride.push_back(0);
  }
  broadcast.extents_ = std::move(extents);
  return broadcast;
}

void copy_strided(const Buffer& in, std::int64_t base, std::span<const std::int64_t> strides, Buffer& out) {
  if (out.size() == 0) return;
  // Dimensions of one element go, neighbours that run on merge.
  std::vector<std::int64_t> extents, steps;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const std::int64_t extent = out.shape()[d];
    if (extent == 1) continue;
    if (!extents.empty() && steps.back() == strides[d] * extent) {
      extents.back() *= extent;
      steps.back() = strides[d];
    } else {
      extents.push_back(extent);
      steps.push_back(strides[d]);
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    steps.push_back(1);
  }
  with_element_width(out.type(), [&](auto element) {
    using Element = decltype(element);
    const auto* source = in.data<Element>() + base;
    auto* target = out.data<Element>();
    const std::size_t inner = extents.size() - 1;
    const std::int64_t length = extents[inner];
    const std::int64_t step = steps[inner];
    std::vector<std::int64_t> position(extents.size(), 0);
    std::int64_t offset = 0;
    for (;;) {
      if (step == 1) {
        std::copy_n(source + offset, length, target);
      } else {
        for (std::int64_t i = 0; i < length; ++i) target[i] = source[offset + i * step];
      }
      target += length;
      std::size_t d = inner;
      for (; d > 0; --d) {
        offset += steps[d - 1];
        if (++position[d - 1] < extents[d - 1]) break;
        offset -= steps[d - 1] * extents[d - 1];
        position[d - 1] = 0;
      }
      if (d == 0) return;
    }
  });
}

}  // namespace assay::embedded::engine
