// The tile for processors with AVX-512. This file alone is compiled for them: no header of the standard library may
// come in here, since an inline function compiled here must not be the one that every processor gets.
#include <cstddef>

#include "reference/matmul_tile.hpp"

#ifdef __AVX512F__
#include <immintrin.h>

namespace assay::reference {
namespace {

template <std::size_t Rows>
void tile_of(std::int64_t depth, MatrixView a, const double* panel, MutableMatrixView c) {
  constexpr auto kRows = static_cast<std::int64_t>(Rows);
  __m512d sums[Rows];  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (std::int64_t r = 0; r < kRows; ++r) {
    sums[r] = _mm512_loadu_pd(c.data + r * c.stride);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const __m512d right = _mm512_loadu_pd(panel + k * kTileColumns);
    for (std::int64_t r = 0; r < kRows; ++r) {
      sums[r] = _mm512_add_pd(sums[r], _mm512_mul_pd(_mm512_set1_pd(a.data[r * a.stride + k]), right));
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    _mm512_storeu_pd(c.data + r * c.stride, sums[r]);
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

MatmulTile avx512_matmul_tile() { return __builtin_cpu_supports("avx512f") ? &tile : nullptr; }

}  // namespace assay::reference

#else

namespace assay::reference {
MatmulTile avx512_matmul_tile() { return nullptr; }
}  // namespace assay::reference

#endif
