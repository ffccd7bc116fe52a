#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/dtype.hpp"

namespace assay::core {

/// Quantization parameters of one tensor: real = (code - zero_point) * scale.
/// Per-tensor is one scale and no axis; per-axis is one scale per index along `axis`. zero_point has scale's length.
struct QuantParams {
  std::vector<double> scale;             ///< float32 values, size of one step, positive
  std::vector<std::int64_t> zero_point;  ///< codes of real zero
  DType type = DType::int8;
  std::optional<std::int64_t> axis;

  friend bool operator==(const QuantParams&, const QuantParams&) = default;
};

}  // namespace assay::core
