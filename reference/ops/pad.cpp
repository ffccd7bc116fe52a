#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kPadsAreInput = 11;

enum class PadMode { constant, reflect, edge, wrap };

Result<PadMode> mode_of(const Node& node) {
  const std::string name = node.string_or("mode", "constant");
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "edge") return PadMode::edge;
  if (name == "wrap") return PadMode::wrap;
  return op_error(fmt::format("mode is \"{}\", expected constant, reflect, edge or wrap", name));
}

struct Pads {
  std::vector<std::int64_t> begin, end;
};

/// Elements to add (negative: to remove) before and after each axis of `rank`.
Result<Pads> pads_of(const OpCall& call, std::int64_t rank) {
  auto pads = list_argument(call, "pads", 1);
  if (!pads) return pads.error();
  if (!*pads) return op_error("pads are missing");
  std::vector<std::int64_t> axes(at(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has_input(3)) {
    const auto list = integer_list(call, 3);
    if (!list) return list.error();
    auto checked = checked_axes(*list, rank);
    if (!checked) return checked.error();
    axes = std::move(*checked);
  }
  if ((*pads)->size() != 2 * axes.size()) {
    return op_error(fmt::format("{} pads for {} axes, expected two for each", (*pads)->size(), axes.size()));
  }
  Pads result{std::vector<std::int64_t>(at(rank), 0), std::vector<std::int64_t>(at(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.begin[at(axes[i])] = (**pads)[i];
    result.end[at(axes[i])] = (**pads)[axes.size() + i];
  }
  return result;
}

/// The position in [0, extent) that `position` outside of it takes its value from.
std::int64_t source_of(std::int64_t position, std::int64_t extent, PadMode mode) {
  if (position >= 0 && position < extent) return position;
  switch (mode) {
    case PadMode::constant:
      return AxisMap::kOutside;
    case PadMode::edge:
      return position < 0 ? 0 : extent - 1;
    case PadMode::wrap:
      return ((position % extent) + extent) % extent;
    case PadMode::reflect:
      break;
  }
  // Mirrored at the first and the last value, which are not repeated.
  if (extent == 1) return 0;
  const std::int64_t period = 2 * (extent - 1);
  const std::int64_t phase = ((position % period) + period) % period;
  return phase < extent ? phase : period - phase;
}

/// The extents after padding. Errors   a negative or far too large one, checked before anything is allocated.
core::Status check_extents(const Shape& shape, const Pads& pads) {
  Shape padded;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t begin = pads.begin[axis];
    const std::int64_t end = pads.end[axis];
    if (std::max(begin, end) > kElementLimit || std::min(begin, end) < -kElementLimit) {
      return op_error(fmt::format("pads {} and {} of axis {} are out of all proportion", begin, end, axis));
    }
    padded.push_back(shape[axis] + begin + end);
  }
  const auto count = checked_count(padded);
  if (!count) return count.error().within(fmt::format("padding {}", core::shape_text(shape)));
  return core::success();
}

/// The table of one axis: what negative pads leave of it, extended by the positive ones.
Result<std::vector<std::int64_t>> padded_axis(const std::vector<std::int64_t>& table, std::int64_t begin,
                                              std::int64_t end, PadMode mode) {
  const auto extent = static_cast<std::int64_t>(table.size());
  const std::int64_t removed = begin < 0 ? std::min(-begin, extent) : 0;
  const std::int64_t kept = std::max<std::int64_t>(extent - removed - (end < 0 ? -end : 0), 0);
  if (kept == 0 && extent + begin + end > 0 && mode != PadMode::constant) {
    return op_error(fmt::format("pads {} and {} leave nothing of extent {} to repeat", begin, end, extent));
  }
  std::vector<std::int64_t> result;
  result.reserve(at(extent + begin + end));
  for (std::int64_t i = 0; i < extent + begin + end; ++i) {
    const std::int64_t from = source_of(begin > 0 ? i - begin : i, kept, mode);
    result.push_back(from == AxisMap::kOutside ? from : table[at(removed + from)]);
  }
  return result;
}

// ONNX Pad-19; pads and value are attributes before opset 11.
Result<std::vector<Tensor>> run_pad(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto mode = mode_of(call.node);
  if (!mode) return mode.error();
  const auto pads = pads_of(call, x.rank());
  if (!pads) return pads.error();
  if (const auto extents = check_extents(x.shape(), *pads); !extents) return extents.error();
  double fill = call.opset < kPadsAreInput ? call.node.float_or("value", 0.0) : 0.0;
  std::int64_t integer_fill = 0;
  if (call.has_input(2)) {
    if (const auto same = require_same_type(call, 0, 2); !same) return same.error();
    const auto value = real_scalar(call, 2);
    if (!value) return value.error();
    fill = *value;
    if (!x.is_real()) integer_fill = call.in(2).integers()[0];
  }
  AxisMap map = AxisMap::identity(x.shape());
  for (std::size_t axis = 0; axis < map.axes.size(); ++axis) {
    auto padded = padded_axis(map.axes[axis], pads->begin[axis], pads->end[axis], *mode);
    if (!padded) return padded.error();
    map.axes[axis] = std::move(*padded);
  }
  return single_output(take(x, map, fill, integer_fill));
}

Result<Facts> infer_pad(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  if (const auto mode = mode_of(call.node); !mode) return mode.error();
  if (const auto same = require_same_type(call, 0, 2); !same) return same.error();
  if (const auto single = require_single(call, 2); !single) return single.error();
  const auto pads = list_argument(call, "pads", 1);
  if (!pads) return pads.error();
  if (!pads->given) return op_error("pads are missing");
  const auto axes = list_argument(call, "", 3);
  if (!axes) return axes.error();
  if (!x.shape) {
    const bool counted = pads->elements && !axes->given;
    return one(x.type, counted ? std::optional(unknown_dims(pads->elements->size() / 2)) : std::nullopt);
  }
  if (!pads->elements || (axes->given && !axes->all())) return one(x.type, unknown_dims(x.shape->size()));
  Shape named(x.shape->size());
  std::iota(named.begin(), named.end(), 0);
  const auto checked = checked_axes(axes->given ? *axes->all() : named, *x.rank());
  if (!checked) return checked.error();
  if (pads->elements->size() != 2 * checked->size()) {
    return op_error(fmt::format("{} pads for {} axes, expected two for each", pads->elements->size(), checked->size()));
  }
  Dims shape = *x.shape;
  for (std::size_t i = 0; i < checked->size(); ++i) {
    Dimension& extent = shape[at((*checked)[i])];
    const std::array terms{extent, (*pads->elements)[i], (*pads->elements)[checked->size() + i]};
    extent = sum(terms);
    if (extent.value && *extent.value < 0) {
      return op_error(fmt::format("pads {} leave axis {} of {} a negative extent", dims_text(*pads->elements),
                                  (*checked)[i], facts_text(x)));
    }
  }
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_pad() {
  static const OpDef def{.name = "Pad", .first_opset = 2, .max_inputs = 4, .run = &run_pad, .infer = &infer_pad};
  return def;
}

}  // namespace assay::reference
