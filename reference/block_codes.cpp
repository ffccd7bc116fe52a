#include "reference/block_codes.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "reference/quant_layout.hpp"

namespace assay::reference {

Tensor dequantized(const BlockCodes& blocks) {
  const QuantLayout layout{.split = split_at_axis(blocks.codes.shape(), blocks.axis), .block_size = blocks.block_size};
  const std::vector<double> scale = blocks.scale.to_reals(), zero_point = blocks.zero_point.to_reals();
  std::vector<double> values = blocks.codes.to_reals();
  layout.for_each_run([&](std::int64_t first, std::int64_t count, std::int64_t index) {
    for (std::int64_t i = first; i < first + count; ++i) {
      values[at(i)] = (values[at(i)] - zero_point[at(index)]) * scale[at(index)];
    }
  });
  return {blocks.scale.type(), blocks.codes.shape(), std::move(values)};
}

Result<std::int64_t> block_size_of(const Node& node, std::int64_t fallback) {
  constexpr std::int64_t kLeast = 16;
  const std::int64_t size = node.int_or("block_size", fallback);
  if (size >= kLeast && (size & (size - 1)) == 0) return size;
  return op_error(fmt::format("block_size is {}, expected a power of two from {} on", size, kLeast));
}

std::int64_t blocks_of(std::int64_t extent, std::int64_t block_size) {
  return QuantLayout{.split = {.outer = 1, .extent = extent, .inner = 1}, .block_size = block_size}.blocks();
}

std::int64_t packed_bytes(std::int64_t count, std::int64_t bits) { return blocks_of(count, 8 / bits); }

Tensor unpacked(const Tensor& bytes, std::int64_t bits, Shape shape) {
  const DType type = bits == 2 ? DType::uint2 : bits == 4 ? DType::uint4 : DType::uint8;
  const std::int64_t columns = shape.back(), in_byte = 8 / bits, stride = packed_bytes(columns, bits);
  const std::span<const std::int64_t> packed = bytes.integers();
  std::vector<std::int64_t> codes(at(core::element_count(shape)));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(codes.size()); ++i) {
    const std::int64_t column = i % columns, byte = packed[at(i / columns * stride + column / in_byte)];
    codes[at(i)] = byte >> (column % in_byte * bits) & ((std::int64_t{1} << bits) - 1);
  }
  return {type, std::move(shape), std::move(codes)};
}

}  // namespace assay::reference
