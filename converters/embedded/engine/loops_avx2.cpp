// The inner loops for processors with AVX2. This file alone is compiled for them (see loops_body.inc).
#include "converters/embedded/engine/loops.hpp"

#ifdef __AVX2__
#include <immintrin.h>

namespace assay::embedded::engine {
namespace {

void float_tile(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t stride) {
  __m256 sum[kTileRows][2];  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k) {
    const __m256 right0 = _mm256_loadu_ps(b);
    const __m256 right1 = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const __m256 left = _mm256_broadcast_ss(a + r);
      sum[r][0] = _mm256_add_ps(sum[r][0], _mm256_mul_ps(left, right0));
      sum[r][1] = _mm256_add_ps(sum[r][1], _mm256_mul_ps(left, right1));
    }
    a += kTileRows;
    b += kTileColumns;
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    _mm256_storeu_ps(c + r * stride, sum[r][0]);
    _mm256_storeu_ps(c + r * stride + 8, sum[r][1]);
  }
}

void code_tile(const std::int16_t* a, const std::int16_t* b, std::int64_t pairs, std::int32_t* c, std::int64_t stride) {
  __m256i sum[kTileRows][2];  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
  for (std::int64_t k = 0; k < pairs; ++k) {
    const __m256i right0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i right1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 16));
#pragma GCC unroll 6
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const __m256i left = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(a + 2 * r)));
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(left, right0));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(left, right1));
    }
    a += 2 * kTileRows;
    b += 2 * kTileColumns;
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * stride), sum[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * stride + 8), sum[r][1]);
  }
}

#include "converters/embedded/engine/loops_body.inc"

}  // namespace

const Loops* avx2_loops() { return __builtin_cpu_supports("avx2") ? &kLoops : nullptr; }

}  // namespace assay::embedded::engine

#else

namespace assay::embedded::engine {
const Loops* avx2_loops() { return nullptr; }
}  // namespace assay::embedded::engine

#endif
