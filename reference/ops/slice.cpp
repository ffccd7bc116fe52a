#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

struct Slices {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

/// starts, ends, axes, steps: attributes (without steps) before opset 10, inputs since.
Result<Slices> slices_of(const OpCall& call) {
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
  return Slices{std::move(**starts), std::move(**ends), std::move(**axes), std::move(**steps)};
}

/// `position` counted from the front and clamped to [low, high].
std::int64_t clamped(std::int64_t position, std::int64_t extent, std::int64_t low, std::int64_t high) {
  return std::clamp(position < 0 ? position + extent : position, low, high);
}

/// The positions start, start + step, … before end, of an axis of `extent`. Going backwards, the end may lie before 0,
/// but the start is clamped to 0 as the text says (and not as in Python).
std::vector<std::int64_t> positions(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  std::vector<std::int64_t> result;
  if (extent == 0) return result;
  // A longer step leaves the axis at once, as this one does; it can't overflow.
  step = std::clamp(step, -extent, extent);
  if (step > 0) {
    const std::int64_t last = clamped(end, extent, 0, extent);
    for (std::int64_t i = clamped(start, extent, 0, extent); i < last; i += step) result.push_back(i);
  } else {
    const std::int64_t last = clamped(end, extent, -1, extent - 1);
    for (std::int64_t i = clamped(start, extent, 0, extent - 1); i > last; i += step) result.push_back(i);
  }
  return result;
}

// ONNX Slice-13.
Result<std::vector<Tensor>> run(const OpCall& call) {
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
    for (const std::int64_t position :
         positions(slices->starts[i], slices->ends[i], slices->steps[i], x.shape()[axis])) {
      table.push_back(map.axes[axis][at(position)]);
    }
    map.axes[axis] = std::move(table);
  }
  return single_output(take(x, map));
}

}  // namespace

const OpDef& op_slice() {
  static const OpDef def{.name = "Slice", .max_inputs = 5, .run = &run};
  return def;
}

}  // namespace assay::reference
