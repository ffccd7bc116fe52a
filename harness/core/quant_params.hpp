#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/dtype.hpp"

namespace assay::core {

/// Quantization parameters of one tensor: real = (code - zero_point) * scale.
/// Per-tensor is one scale and no axis; per-axis is one scale per index along `axis`. In blocks there is one per
/// `block` indices along `axis` (the last block may be short) and per index along all others: scales lie in row-major
/// order of the tensor's shape with the number of blocks along `axis`. zero_point has scale's length.
struct QuantParams {
  std::vector<double> scale;             ///< float32 values, size of one step, positive
  std::vector<std::int64_t> zero_point;  ///< codes of real zero
  DType type = DType::int8;
  std::optional<std::int64_t> axis;
  std::int64_t block = 0;  ///< elements along `axis` that share a scale; 0: each index has its own
  double unit = 0;         ///< unit roundoff of scales, and of what is rounded with them, of 16 bits; 0: float32
  /// What the scales were rounded to where they are codes themselves: float8e4m3fn, say, or powers of two (float8e8m0).
  DType scale_type = DType::float32;
  std::vector<double> scale_step = {};  ///< of such codes: what a one of them stands for, for each scale or for all

  friend bool operator==(const QuantParams&, const QuantParams&) = default;
};

}  // namespace assay::core
