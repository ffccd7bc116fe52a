#include "reference/broadcast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"

namespace assay::reference {

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims shape(std::max(a.size(), b.size()), known(1));
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const Dimension extent_a = back <= a.size() ? a[a.size() - back] : known(1);
    const Dimension extent_b = back <= b.size() ? b[b.size() - back] : known(1);
    Dimension& extent = shape[shape.size() - back];
    if (extent_a.value == 1 || extent_b.value == 1) {
      extent = extent_a.value == 1 ? extent_b : extent_a;
    } else if (!may_equal(extent_a, extent_b)) {
      return op_error(fmt::format("shapes {} and {} do not broadcast: {} against {} at axis -{}", dims_text(a),
                                  dims_text(b), dim_text(extent_a), dim_text(extent_b), back));
    } else if (extent_a.value || extent_b.value) {
      extent = sharper(extent_a, extent_b);  // beside a number other than 1 the other one is 1 or the same
    } else {
      extent = common(extent_a, extent_b);
    }
  }
  return shape;
}

Result<Shape> broadcast_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const auto dims = broadcast_dims(dims_of(a), dims_of(b));
  if (!dims) return dims.error();
  Shape shape = *sizes(*dims);
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
