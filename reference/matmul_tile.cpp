#include "reference/matmul_tile.hpp"

namespace assay::reference {
namespace {

void tile(std::int64_t rows, std::int64_t depth, MatrixView a, const double* panel, MutableMatrixView c) {
  for (std::int64_t r = 0; r < rows; ++r) {
    double sums[kTileColumns];  // NOLINT(modernize-avoid-c-arrays): stays in registers
    for (std::int64_t j = 0; j < kTileColumns; ++j) {
      sums[j] = c.data[r * c.stride + j];
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t j = 0; j < kTileColumns; ++j) {
        sums[j] += a.data[r * a.stride + k] * panel[k * kTileColumns + j];
      }
    }
    for (std::int64_t j = 0; j < kTileColumns; ++j) {
      c.data[r * c.stride + j] = sums[j];
    }
  }
}

}  // namespace

MatmulTile plain_matmul_tile() { return &tile; }

MatmulTile matmul_tile() {
  static const MatmulTile chosen = avx512_matmul_tile() != nullptr ? avx512_matmul_tile()
                                   : avx2_matmul_tile() != nullptr ? avx2_matmul_tile()
                                                                   : plain_matmul_tile();
  return chosen;
}

}  // namespace assay::reference
