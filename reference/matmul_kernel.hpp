#pragma once

#include <cstdint>

namespace assay::reference {

/// A row-major matrix somewhere in memory: element (r, c) is data[r * stride + c].
struct MatrixView {
  const double* data = nullptr;
  std::int64_t stride = 0;
};
struct MutableMatrixView {
  double* data = nullptr;
  std::int64_t stride = 0;
};

/// c += a · b, for a of rows × depth, b of depth × columns: three plain loops.
void multiply_add_plain(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, MatrixView b,
                        MutableMatrixView c);

/// The same, in blocks that stay in the cache. Every element adds its products in the order of the depth, one at a
/// time, so that the result equals the plain form's to the last bit.
void multiply_add(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, MatrixView b,
                  MutableMatrixView c);

}  // namespace assay::reference
