#include "reference/matmul_kernel.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "reference/matmul_tile.hpp"

namespace assay::reference {
namespace {

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

/// A tile at the right edge: `columns` < kTileColumns elements a row, by way of a whole one.
void edge_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, MatrixView a, const double* panel,
               MutableMatrixView c) {
  std::array<double, kTileRows * kTileColumns> whole{};
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(c.data + r * c.stride, columns, whole.data() + r * kTileColumns);
  }
  matmul_tile()(rows, depth, a, panel, {whole.data(), kTileColumns});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(whole.data() + r * kTileColumns, columns, c.data + r * c.stride);
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
  const MatmulTile tile = matmul_tile();
  std::vector<double> packed;
  for (std::int64_t column = 0; column < columns; column += kColumnBlock) {
    const std::int64_t width = std::min(kColumnBlock, columns - column);
    for (std::int64_t k = 0; k < depth; k += kDepthBlock) {
      const std::int64_t thickness = std::min(kDepthBlock, depth - k);
      pack(thickness, width, {b.data + k * b.stride + column, b.stride}, packed);
      for (std::int64_t row = 0; row < rows; row += kTileRows) {
        for (std::int64_t j = 0; j < width; j += kTileColumns) {
          const std::int64_t height = std::min(kTileRows, rows - row);
          const MatrixView left{a.data + row * a.stride + k, a.stride};
          const MutableMatrixView out{c.data + row * c.stride + column + j, c.stride};
          if (width - j < kTileColumns) {
            edge_tile(height, width - j, thickness, left, packed.data() + j * thickness, out);
          } else {
            tile(height, thickness, left, packed.data() + j * thickness, out);
          }
        }
      }
    }
  }
}

}  // namespace assay::reference
