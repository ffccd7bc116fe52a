#include "reference/matmul_kernel.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace assay::reference {
namespace {

constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileColumns = 8;
constexpr std::int64_t kDepthBlock = 256;   // a panel of b (kDepthBlock × kTileColumns) stays in the first cache
constexpr std::int64_t kColumnBlock = 512;  // a packed block of b is 1 MiB
/// Below so many products packing costs more than it saves.
constexpr std::int64_t kSmallProblem = 4096;

/// Copies a depth × columns block of b as panels of kTileColumns columns, the last one filled up with zeros.
void pack(std::int64_t depth, std::int64_t columns, MatrixView b, std::vector<double>& packed) {
  const std::int64_t panels = (columns + kTileColumns - 1) / kTileColumns;
  packed.assign(static_cast<std::size_t>(panels * depth * kTileColumns), 0.0);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t first = panel * kTileColumns;
    const std::int64_t width = std::min(kTileColumns, columns - first);
    double* out = packed.data() + panel * depth * kTileColumns;
    for (std::int64_t k = 0; k < depth; ++k) {
      std::copy_n(b.data + k * b.stride + first, width, out + k * kTileColumns);
    }
  }
}

/// One tile: `rows` (up to kTileRows) × `columns` (up to kTileColumns) elements of c.
template <std::size_t Rows>
void tile(std::int64_t columns, std::int64_t depth, MatrixView a, const double* panel, MutableMatrixView c) {
  std::array<std::array<double, kTileColumns>, Rows> sums{};
  for (std::size_t r = 0; r < Rows; ++r) {
    std::copy_n(c.data + static_cast<std::int64_t>(r) * c.stride, columns, sums[r].begin());
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const double* row = panel + k * kTileColumns;
    for (std::size_t r = 0; r < Rows; ++r) {
      const double factor = a.data[static_cast<std::int64_t>(r) * a.stride + k];
      for (std::size_t j = 0; j < kTileColumns; ++j) {
        sums[r][j] += factor * row[j];
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    std::copy_n(sums[r].begin(), columns, c.data + static_cast<std::int64_t>(r) * c.stride);
  }
}

void tile_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, const double* panel,
             MutableMatrixView c) {
  static_assert(kTileRows == 4);
  switch (rows) {
    case 1:
      return tile<1>(columns, depth, a, panel, c);
    case 2:
      return tile<2>(columns, depth, a, panel, c);
    case 3:
      return tile<3>(columns, depth, a, panel, c);
    default:
      return tile<4>(columns, depth, a, panel, c);
  }
}

}  // namespace

void multiply_add_plain(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, MatrixView b,
                        MutableMatrixView c) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const double factor = a.data[row * a.stride + k];
      for (std::int64_t column = 0; column < columns; ++column) {
        c.data[row * c.stride + column] += factor * b.data[k * b.stride + column];
      }
    }
  }
}

void multiply_add(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, MatrixView b,
                  MutableMatrixView c) {
  if (rows == 1 || rows * columns * depth <= kSmallProblem) {
    multiply_add_plain(rows, columns, depth, a, b, c);
    return;
  }
  std::vector<double> packed;
  for (std::int64_t column = 0; column < columns; column += kColumnBlock) {
    const std::int64_t width = std::min(kColumnBlock, columns - column);
    for (std::int64_t k = 0; k < depth; k += kDepthBlock) {
      const std::int64_t thickness = std::min(kDepthBlock, depth - k);
      pack(thickness, width, {b.data + k * b.stride + column, b.stride}, packed);
      for (std::int64_t row = 0; row < rows; row += kTileRows) {
        for (std::int64_t j = 0; j < width; j += kTileColumns) {
          tile_of(std::min(kTileRows, rows - row), std::min(kTileColumns, width - j), thickness,
                  {a.data + row * a.stride + k, a.stride}, packed.data() + j * thickness,
                  {c.data + row * c.stride + column + j, c.stride});
        }
      }
    }
  }
}

}  // namespace assay::reference
