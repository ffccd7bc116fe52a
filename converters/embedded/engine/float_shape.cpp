// Operators on shapes and types: what changes a tensor's extents without moving elements, and what makes tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {
namespace {

Status need_input(const Call& call) {
  return call.has(0) ? core::success() : Status(invalid_model("input 0 is left out, but required"));
}

Result<Kernel> make_identity(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    call.outputs[0] = call.input(0);
    return core::success();
  });
}

/// Dropout keeps everything outside training; its optional mask says so.
Result<Kernel> make_dropout(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    if (call.has(2) && call.input(2).size() == 1 && call.input(2).to_integers()[0] != 0) {
      return unsupported("Dropout in training mode");
    }
    call.outputs[0] = call.input(0);
    if (call.outputs.size() > 1) {
      call.outputs[1] = Buffer(DType::boolean, call.input(0).shape());
      std::fill_n(call.outputs[1].data<std::uint8_t>(), call.input(0).size(), std::uint8_t{1});
    }
    return core::success();
  });
}

Result<Kernel> make_reshape(const Binding& binding) {
  const bool zero_stays_zero = binding.node.int_or("allowzero", 0) != 0;
  return Kernel([zero_stays_zero](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1)) return invalid_model("data and shape are required");
    const Buffer& x = call.input(0);
    Shape shape = call.input(1).to_integers();
    std::ptrdiff_t open = -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 0 && !zero_stays_zero) {
        if (d >= x.shape().size()) return invalid_data("shape copies a dimension that the input does not have");
        shape[d] = x.shape()[d];
      }
      if (shape[d] == -1 && open < 0) {
        open = static_cast<std::ptrdiff_t>(d);
      } else if (shape[d] < 0) {
        return invalid_data(fmt::format("shape {} has a wrong extent", core::shape_text(shape)));
      }
    }
    Shape rest = shape;
    if (open >= 0) rest.erase(rest.begin() + open);
    const std::int64_t known = checked_count(rest).value_or(kMostElements + 1);
    if (open >= 0) shape[static_cast<std::size_t>(open)] = known == 0 ? 0 : x.size() / known;
    if (checked_count(shape) != x.size()) {
      return invalid_data(fmt::format("{} does not hold the {} elements of {}", core::shape_text(shape), x.size(),
                                      core::shape_text(x.shape())));
    }
    call.outputs[0] = x.reshaped(shape);
    return core::success();
  });
}

Result<Kernel> make_flatten(const Binding& binding) {
  return Kernel([axis = binding.node.int_or("axis", 1)](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    const Buffer& x = call.input(0);
    const auto resolved = resolve_axis(axis, x.rank(), true);
    if (!resolved) return resolved.error();
    const Shape outer(x.shape().begin(), x.shape().begin() + *resolved);
    const Shape inner(x.shape().begin() + *resolved, x.shape().end());
    call.outputs[0] = x.reshaped({core::element_count(outer), core::element_count(inner)});
    return core::success();
  });
}

/// Axes as an input (opset 13) or an attribute, counted from the front of `rank` dimensions, sorted.
Result<std::vector<std::int64_t>> axes_operand(const Call& call, const std::vector<std::int64_t>& attribute,
                                               std::int64_t rank) {
  std::vector<std::int64_t> axes = call.has(1) ? call.input(1).to_integers() : attribute;
  for (std::int64_t& axis : axes) {
    const auto resolved = resolve_axis(axis, rank);
    if (!resolved) return resolved.error();
    axis = *resolved;
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return invalid_data("an axis is named twice");
  return axes;
}

Result<Kernel> make_squeeze(const Binding& binding) {
  return Kernel([listed = binding.node.ints_or("axes")](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    const Buffer& x = call.input(0);
    auto axes = axes_operand(call, listed, x.rank());
    if (!axes) return axes.error();
    Shape shape;
    for (std::int64_t d = 0; d < x.rank(); ++d) {
      const std::int64_t extent = x.shape()[static_cast<std::size_t>(d)];
      const bool named = std::ranges::binary_search(*axes, d);
      if (named && extent != 1) return invalid_data(fmt::format("axis {} has an extent of {}, not 1", d, extent));
      if (!(named || (axes->empty() && extent == 1))) shape.push_back(extent);
    }
    call.outputs[0] = x.reshaped(shape);
    return core::success();
  });
}

Result<Kernel> make_unsqueeze(const Binding& binding) {
  return Kernel([listed = binding.node.ints_or("axes")](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    const Buffer& x = call.input(0);
    const std::int64_t added = call.has(1) ? call.input(1).size() : std::ssize(listed);
    auto axes = axes_operand(call, listed, x.rank() + added);
    if (!axes) return axes.error();
    Shape shape;
    auto next = x.shape().begin();
    for (std::int64_t d = 0; d < x.rank() + added; ++d) {
      shape.push_back(std::ranges::binary_search(*axes, d) ? 1 : *next++);
    }
    call.outputs[0] = x.reshaped(shape);
    return core::success();
  });
}

Result<Kernel> make_shape(const Binding& binding) {
  const std::int64_t first = binding.node.int_or("start", 0);
  const std::int64_t last = binding.node.int_or("end", std::numeric_limits<std::int64_t>::max());
  return Kernel([first, last](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    const std::int64_t rank = call.input(0).rank();
    const auto limit = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const std::int64_t begin = limit(first);
    const std::int64_t count = std::max<std::int64_t>(0, limit(last) - begin);
    call.outputs[0] = Buffer(DType::int64, {count});
    std::copy_n(call.input(0).shape().begin() + begin, count, call.outputs[0].data<std::int64_t>());
    return core::success();
  });
}

Result<Kernel> make_size(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    call.outputs[0] = Buffer(DType::int64, {});
    *call.outputs[0].data<std::int64_t>() = call.input(0).size();
    return core::success();
  });
}

/// A real value as an integer type: truncated, limited to what the type holds, NaN as 0.
template <typename To, typename From>
To cast_value(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (value != value) return 0;
    const auto wide = static_cast<double>(value);
    // 2^63 is the first double beyond int64; it and its like go to the end of the range.
    if (wide >= 9223372036854775808.0) return std::numeric_limits<To>::max();
    if (wide < -9223372036854775808.0) return std::numeric_limits<To>::lowest();
    return static_cast<To>(static_cast<std::int64_t>(wide));
  } else {
    return static_cast<To>(value);
  }
}

Result<Kernel> make_cast(const Binding& binding) {
  const bool like = binding.node.op_type == "CastLike";
  const auto declared = static_cast<DType>(binding.node.int_or("to", 0));
  if (!like && !is_stored(declared)) {
    return unsupported(fmt::format("a cast to {}; the engine computes in float32", core::dtype_name(declared)));
  }
  return Kernel([declared, like](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    if (like && !call.has(1)) return invalid_model("input 1 is left out, but required");
    const Buffer& x = call.input(0);
    const DType to = like ? call.input(1).type() : declared;
    if (to == x.type()) {
      call.outputs[0] = x;
      return core::success();
    }
    call.outputs[0] = Buffer(to, x.shape());
    with_element_type(x.type(), [&](auto from) {
      const auto* in = x.data<decltype(from)>();
      if (to == DType::boolean) {
        auto* out = call.outputs[0].data<std::uint8_t>();
        for (std::int64_t i = 0; i < x.size(); ++i) out[i] = in[i] != decltype(from){} ? 1 : 0;
        return;
      }
      with_element_type(to, [&](auto element) {
        using To = decltype(element);
        auto* out = call.outputs[0].data<To>();
        for (std::int64_t i = 0; i < x.size(); ++i) out[i] = cast_value<To>(in[i]);
        if constexpr (std::is_floating_point_v<To>) {
          if (to == DType::float32) return;
          for (std::int64_t i = 0; i < x.size(); ++i)
            out[i] = static_cast<float>(core::round_to_type(static_cast<double>(out[i]), to));
        }
      });
    });
    return core::success();
  });
}

/// The tensor that a Constant node holds, in whichever attribute.
Result<core::Tensor> constant_value(const Node& node) {
  if (const auto value = node.tensor("value")) return *value;
  if (node.has("value_float"))
    return core::Tensor(DType::float32, {}, std::vector<double>{node.float_or("value_float", 0)});
  if (node.has("value_int"))
    return core::Tensor(DType::int64, {}, std::vector<std::int64_t>{node.int_or("value_int", 0)});
  if (node.has("value_floats")) {
    auto values = node.floats_or("value_floats");
    const Shape shape{std::ssize(values)};
    return core::Tensor(DType::float32, shape, std::move(values));
  }
  if (node.has("value_ints")) {
    auto values = node.ints_or("value_ints");
    const Shape shape{std::ssize(values)};
    return core::Tensor(DType::int64, shape, std::move(values));
  }
  return unsupported("a Constant of strings or of a sparse tensor");
}

Result<Kernel> make_constant(const Binding& binding) {
  auto value = constant_value(binding.node);
  if (!value) return value.error();
  auto buffer = Buffer::from_tensor(*value);
  if (!buffer) return buffer.error();
  return Kernel([buffer = *buffer](const Call& call) -> Status {
    call.outputs[0] = buffer;
    return core::success();
  });
}

Result<Kernel> make_constant_of_shape(const Binding& binding) {
  Buffer value(DType::float32, {1});
  *value.data<float>() = 0;
  if (const auto tensor = binding.node.tensor("value")) {
    auto buffer = Buffer::from_tensor(*tensor);
    if (!buffer) return buffer.error();
    value = *buffer;
  }
  if (value.size() != 1) return invalid_model("value must have one element");
  return Kernel([value](const Call& call) -> Status {
    if (auto status = need_input(call); !status) return status;
    const Shape shape = call.input(0).to_integers();
    if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
      return invalid_data(fmt::format("shape {} has a negative extent", core::shape_text(shape)));
    }
    call.outputs[0] = Buffer(value.type(), shape);
    with_element_width(value.type(), [&](auto element) {
      using Element = decltype(element);
      std::fill_n(call.outputs[0].data<Element>(), call.outputs[0].size(), *value.data<Element>());
    });
    return core::success();
  });
}

Result<Kernel> make_range(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    for (std::size_t i = 0; i < 3; ++i) {
      if (!call.has(i) || call.input(i).size() != 1 || call.input(i).type() != call.input(0).type()) {
        return invalid_data("start, limit and delta must be scalars of one type");
      }
    }
    return with_element_type(call.input(0).type(), [&](auto element) -> Status {
      using Element = decltype(element);
      const Element start = *call.input(0).data<Element>();
      const Element limit = *call.input(1).data<Element>();
      const Element delta = *call.input(2).data<Element>();
      if (delta == Element{}) return invalid_data("delta of Range is 0");
      const double count =
          std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
      constexpr double kMostElements = 1 << 28;
      if (!(count < kMostElements)) return invalid_data("Range would have too many elements");
      const auto size = std::max<std::int64_t>(0, static_cast<std::int64_t>(count));
      call.outputs[0] = Buffer(call.input(0).type(), {size});
      auto* out = call.outputs[0].data<Element>();
      for (std::int64_t i = 0; i < size; ++i) {
        out[i] = static_cast<Element>(start + static_cast<Element>(static_cast<Element>(i) * delta));
      }
      return core::success();
    });
  });
}

}  // namespace

void add_shape_makers(MakerTable& table) {
  table["Identity"] = &make_identity;
  table["Dropout"] = &make_dropout;
  table["Reshape"] = &make_reshape;
  table["Flatten"] = &make_flatten;
  table["Squeeze"] = &make_squeeze;
  table["Unsqueeze"] = &make_unsqueeze;
  table["Shape"] = &make_shape;
  table["Size"] = &make_size;
  table["Cast"] = &make_cast;
  table["CastLike"] = &make_cast;
  table["Constant"] = &make_constant;
  table["ConstantOfShape"] = &make_constant_of_shape;
  table["Range"] = &make_range;
}

}  // namespace assay::embedded::engine
