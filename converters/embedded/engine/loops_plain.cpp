// The inner loops for any processor.
#include "converters/embedded/engine/loops.hpp"

namespace assay::embedded::engine {
namespace {

void float_tile(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t stride) {
  float sum[kTileRows][kTileColumns] = {};  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const float left = a[k * kTileRows + r];
      for (std::int64_t j = 0; j < kTileColumns; ++j) sum[r][j] += left * b[k * kTileColumns + j];
    }
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    for (std::int64_t j = 0; j < kTileColumns; ++j) c[r * stride + j] = sum[r][j];
  }
}

void code_tile(const std::int16_t* a, const std::int16_t* b, std::int64_t pairs, std::int32_t* c, std::int64_t stride) {
  std::uint32_t sum[kTileRows][kTileColumns] = {};  // NOLINT(modernize-avoid-c-arrays): stays in registers
  for (std::int64_t k = 0; k < pairs; ++k) {
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const std::int32_t even = a[(k * kTileRows + r) * 2];
      const std::int32_t odd = a[(k * kTileRows + r) * 2 + 1];
      for (std::int64_t j = 0; j < kTileColumns; ++j) {
        const std::int16_t* right = b + (k * kTileColumns + j) * 2;
        sum[r][j] += static_cast<std::uint32_t>(even * right[0] + odd * right[1]);
      }
    }
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    for (std::int64_t j = 0; j < kTileColumns; ++j) c[r * stride + j] = static_cast<std::int32_t>(sum[r][j]);
  }
}

#include "converters/embedded/engine/loops_body.inc"

}  // namespace

const Loops& plain_loops() { return kLoops; }

}  // namespace assay::embedded::engine
