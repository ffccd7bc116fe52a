#pragma once

#include <cstdint>

#include "reference/op.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

/// A tensor quantized in blocks: what DequantizeLinear takes with attributes axis and block_size.
struct BlockCodes {
  Tensor codes;
  Tensor scale;       ///< of the codes' shape with the number of blocks along the axis; may be negative
  Tensor zero_point;  ///< of the scale's shape; of the codes' type, or real where one is no code of theirs
  std::int64_t axis = 0;
  std::int64_t block_size = 1;
};

/// (code - zero point) · scale, of the scale's type.
[[nodiscard]] Tensor dequantized(const BlockCodes& blocks);

/// ONNX Runtime's attribute block_size. Errors   no power of two from 16 on.
[[nodiscard]] Result<std::int64_t> block_size_of(const Node& node, std::int64_t fallback);
/// How many blocks `extent` elements take; the last one may be short.
[[nodiscard]] std::int64_t blocks_of(std::int64_t extent, std::int64_t block_size);
/// How many bytes a row of `count` codes takes.
[[nodiscard]] std::int64_t packed_bytes(std::int64_t count, std::int64_t bits);

/// Codes of 2, 4 or 8 bits in uint8, the first one in the lowest bits, as uint2, uint4 or uint8 of `shape`. Each row of
/// the last axis starts at a byte.
[[nodiscard]] Tensor unpacked(const Tensor& bytes, std::int64_t bits, Shape shape);

}  // namespace assay::reference
