#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

struct SliceLists {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

/// starts, ends, axes, steps: attributes (without steps) before opset 10, inputs since.
Result<SliceLists> slices_of(const OpCall& call) {
  auto starts = list_argument(call, "starts", 1);
  if (!starts) return starts.error();
  auto ends = list_argument(call, "ends", 2);
  if (!ends) return ends.error();
  auto axes = list_argument(call, "axes", 3);
  if (!axes) return axes.error();
  auto steps = list_argument(call, "steps", 4);
  if (!steps) return steps.error();
  if (!*starts || !*ends) return op_error("starts or ends are missing");
  const std::size_t count = (*starts)->size();
  if (!*axes) {
    axes->emplace(count);
    std::iota((*axes)->begin(), (*axes)->end(), 0);
  }
  if (!*steps) steps->emplace(count, 1);
  if ((*ends)->size() != count || (*axes)->size() != count || (*steps)->size() != count) {
    return op_error(fmt::format("{} starts, {} ends, {} axes and {} steps; expected as many of each", count,
                                (*ends)->size(), (*axes)->size(), (*steps)->size()));
  }
  return SliceLists{std::move(**starts), std::move(**ends), std::move(**axes), std::move(**steps)};
}

/// `position` counted from the front and clamped to [low, high].
std::int64_t clamped(std::int64_t position, std::int64_t extent, std::int64_t low, std::int64_t high) {
  return std::clamp(position < 0 ? position + extent : position, low, high);
}

/// `count` positions of an axis: first, first + step, …
struct Positions {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// The positions start, start + step, … before end, of an axis of `extent`. Going backwards, the end may lie before 0,
/// but the start is clamped to 0 as the text says (and not as in Python).
Positions positions(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (extent == 0) return {};
  // A longer step leaves the axis at once, as this one does; it can't overflow.
  step = std::clamp(step, -extent, extent);
  const bool forward = step > 0;
  const std::int64_t first = clamped(start, extent, 0, forward ? extent : extent - 1);
  const std::int64_t last = forward ? clamped(end, extent, 0, extent) : clamped(end, extent, -1, extent - 1);
  const std::int64_t distance = forward ? last - first : first - last;
  const std::int64_t stride = forward ? step : -step;
  return {.first = first, .step = step, .count = distance > 0 ? (distance + stride - 1) / stride : 0};
}

/// The extent that is left of one axis, as far as known.
Result<Dimension> sliced(const Dimension& extent, const Dimension& start, const Dimension& end, const Dimension& step) {
  if (step.value == 0) return op_error("a step is 0");
  if (!start.value || !end.value || !step.value) return Dimension();
  if (extent.value) return known(positions(*start.value, *end.value, *step.value, *extent.value).count);
  const bool whole = *start.value == 0 && *end.value >= kElementLimit && *step.value == 1;
  return whole ? extent : Dimension();
}

Result<Facts> infer_slice(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  std::array<ListArgument, 4> lists;
  constexpr std::array<std::string_view, 4> kNames{"starts", "ends", "axes", "steps"};
  std::optional<std::size_t> count;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto list = list_argument(call, kNames[i], i + 1);
    if (!list) return list.error();
    lists[i] = std::move(*list);
    if (!lists[i].elements) continue;
    if (count && *count != lists[i].elements->size()) {
      return op_error(fmt::format("{} {}, but {} {}; expected as many of each", lists[i].elements->size(), kNames[i],
                                  *count, kNames[0]));
    }
    count = lists[i].elements->size();
  }
  auto& [starts, ends, axes, steps] = lists;
  if (!starts.given || !ends.given) return op_error("starts or ends are missing");
  if (!x.shape) return one(x.type, std::nullopt);
  const auto named = axes.given ? axes.all() : count ? std::optional(Shape(*count)) : std::nullopt;
  if (!named || !starts.elements || !ends.elements) return one(x.type, unknown_dims(x.shape->size()));
  Shape wanted = *named;
  if (!axes.given) std::iota(wanted.begin(), wanted.end(), 0);
  const auto checked = checked_axes(wanted, *x.rank());
  if (!checked) return checked.error();
  Dims shape = *x.shape;
  for (std::size_t i = 0; i < checked->size(); ++i) {
    Dimension& extent = shape[at((*checked)[i])];
    const Dimension step = !steps.given ? known(1) : steps.elements ? (*steps.elements)[i] : Dimension();
    const auto left = sliced(extent, (*starts.elements)[i], (*ends.elements)[i], step);
    if (!left) return left.error();
    extent = *left;
  }
  return one(x.type, std::move(shape));
}

// ONNX Slice-13.
Result<std::vector<Tensor>> run_slice(const OpCall& call) {
  const auto slices = slices_of(call);
  if (!slices) return slices.error();
  const Tensor& x = call.in(0);
  const auto axes = checked_axes(slices->axes, x.rank());
  if (!axes) return axes.error();
  AxisMap map = AxisMap::identity(x.shape());
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if (slices->steps[i] == 0) return op_error(fmt::format("the step along axis {} is 0", (*axes)[i]));
    const std::size_t axis = at((*axes)[i]);
    std::vector<std::int64_t> table;
    const auto [first, step, count] = positions(slices->starts[i], slices->ends[i], slices->steps[i], x.shape()[axis]);
    for (std::int64_t n = 0; n < count; ++n) table.push_back(map.axes[axis][at(first + n * step)]);
    map.axes[axis] = std::move(table);
  }
  return single_output(take(x, map));
}

}  // namespace

const OpDef& op_slice() {
  static const OpDef def{
      .name = "Slice", .max_inputs = 5, .run = &run_slice, .infer = &infer_slice, .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
