#include "reference/broadcast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"

namespace assay::reference {

Result<Shape> broadcast_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int64_t extent_a = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t extent_b = back <= b.size() ? b[b.size() - back] : 1;
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1) {
      return op_error(fmt::format("shapes {} and {} do not broadcast: {} against {} at axis -{}", core::shape_text(a),
                                  core::shape_text(b), extent_a, extent_b, back));
    }
    shape[shape.size() - back] = extent_a == 1 ? extent_b : extent_a;
  }
  const auto count = checked_count(shape);
  if (!count) return count.error();
  return shape;
}

std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
  const std::vector<std::int64_t> own = row_major_strides(from);
  std::vector<std::int64_t> strides(to.size(), 0);
  const std::size_t missing = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[missing + axis] = own[axis];
  }
  return strides;
}

}  // namespace assay::reference
