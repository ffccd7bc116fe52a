#pragma once

#include <cstdint>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// Where the elements of a result come from, axis by axis: the element at coordinates (i, j, …) is the source's element
/// number axes[0][i] + axes[1][j] + …, or the fill value where one of them is kOutside. Slice, Transpose, Pad, Tile,
/// Expand and their like are nothing else. The result's shape is the tables' lengths.
struct AxisMap {
  static constexpr std::int64_t kOutside = -1;
  std::vector<std::vector<std::int64_t>> axes;

  /// The map that copies a tensor of `shape`.
  [[nodiscard]] static AxisMap identity(const Shape& shape);
};

/// The tensor that `map` takes from `source`. The fill value is the one of the source's kind.
/// Errors   a result that is too large.
[[nodiscard]] Result<Tensor> take(const Tensor& source, const AxisMap& map, double fill_real = 0.0,
                                  std::int64_t fill_integer = 0);

/// The elements [first, first + count) along `axis`.
[[nodiscard]] Result<Tensor> take_range(const Tensor& source, std::int64_t axis, std::int64_t first,
                                        std::int64_t count);

/// Axis `i` of the result is axis perm[i] of `source`; `perm` is a permutation.
[[nodiscard]] Result<Tensor> transposed(const Tensor& source, const std::vector<std::int64_t>& perm);

/// The shape of tensors joined along `axis`, which must be within the rank; null for a part of unknown rank.
/// Errors   naming the first part whose shape does not fit.
[[nodiscard]] Result<Dims> concatenated_dims(const std::vector<const Dims*>& parts, std::int64_t axis);

/// Tensors of one type joined along `axis`, which must be within the rank.
/// Errors   naming the first tensor whose type or shape does not fit.
[[nodiscard]] Result<Tensor> concatenated(const std::vector<const Tensor*>& parts, std::int64_t axis);

}  // namespace assay::reference
