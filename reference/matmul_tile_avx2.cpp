// The tile for processors with AVX2. This file alone is compiled for them: no header of the standard library may come
// in here, since an inline function compiled here must not be the one that every processor gets.
#include <cstddef>

#include "reference/matmul_tile.hpp"

#ifdef __AVX2__
#include <immintrin.h>

namespace assay::reference {
namespace {

template <std::size_t Rows>
void tile_of(std::int64_t depth, MatrixView a, const double* panel, MutableMatrixView c) {
  constexpr auto kRows = static_cast<std::int64_t>(Rows);
  __m256d sums[Rows][2];  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (std::int64_t r = 0; r < kRows; ++r) {
    sums[r][0] = _mm256_loadu_pd(c.data + r * c.stride);
    sums[r][1] = _mm256_loadu_pd(c.data + r * c.stride + 4);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const __m256d right0 = _mm256_loadu_pd(panel + k * kTileColumns);
    const __m256d right1 = _mm256_loadu_pd(panel + k * kTileColumns + 4);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const __m256d left = _mm256_broadcast_sd(a.data + r * a.stride + k);
      sums[r][0] = _mm256_add_pd(sums[r][0], _mm256_mul_pd(left, right0));
      sums[r][1] = _mm256_add_pd(sums[r][1], _mm256_mul_pd(left, right1));
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    _mm256_storeu_pd(c.data + r * c.stride, sums[r][0]);
    _mm256_storeu_pd(c.data + r * c.stride + 4, sums[r][1]);
  }
}

void tile(std::int64_t rows, std::int64_t depth, MatrixView a, const double* panel, MutableMatrixView c) {
  static_assert(kTileRows == 4 && kTileColumns == 8);
  switch (rows) {
    case 1:
      return tile_of<1>(depth, a, panel, c);
    case 2:
      return tile_of<2>(depth, a, panel, c);
    case 3:
      return tile_of<3>(depth, a, panel, c);
    default:
      return tile_of<4>(depth, a, panel, c);
  }
}

}  // namespace

MatmulTile avx2_matmul_tile() { return __builtin_cpu_supports("avx2") ? &tile : nullptr; }

}  // namespace assay::reference

#else

namespace assay::reference {
MatmulTile avx2_matmul_tile() { return nullptr; }
}  // namespace assay::reference

#endif
