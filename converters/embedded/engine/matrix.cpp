#include "converters/embedded/engine/matrix.hpp"

#include <array>

namespace assay::embedded::engine {
namespace {

/// Bytes of one packed block: it should stay in the second cache beside a panel of the left operand.
constexpr std::int64_t kBlockBytes = std::int64_t{192} << 10U;
constexpr std::int64_t kMostBlockColumns = 1024;

std::int64_t panel_count(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

/// Each two neighbouring products are summed with saturation at 16 bits, as byte multiply-add instructions do.
void pairs_tile(const std::int16_t* a, const std::int16_t* b, std::int64_t pairs, std::int32_t* c,
                std::int64_t stride) {
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    for (std::int64_t j = 0; j < kTileColumns; ++j) {
      std::uint32_t sum = 0;
      for (std::int64_t k = 0; k < pairs; ++k) {
        const std::int16_t* left = a + (k * kTileRows + r) * 2;
        const std::int16_t* right = b + (k * kTileColumns + j) * 2;
        const std::int32_t pair = left[0] * right[0] + left[1] * right[1];
        sum += static_cast<std::uint32_t>(std::clamp(pair, -32768, 32767));
      }
      c[r * stride + j] = static_cast<std::int32_t>(sum);
    }
  }
}

}  // namespace

std::int64_t block_columns(std::int64_t depth, std::int64_t element_bytes, std::int64_t columns) {
  const std::int64_t fitting = kBlockBytes / std::max<std::int64_t>(1, depth * element_bytes);
  const std::int64_t wanted = std::min({fitting, kMostBlockColumns, columns});
  return std::max<std::int64_t>(1, (wanted + kTileColumns - 1) / kTileColumns) * kTileColumns;
}

CodeTile code_tile(Accumulator accumulator) {
  return accumulator == Accumulator::int16_pairs ? &pairs_tile : loops().code_tile;
}

FloatRows::FloatRows(const MatrixView<float>& matrix) : rows_(matrix.rows), depth_(matrix.columns) {
  panels_.assign(static_cast<std::size_t>(panel_count(rows_) * kTileRows * depth_), 0.0F);
  for (std::int64_t m = 0; m < rows_; ++m) {
    float* out = panels_.data() + m / kTileRows * depth_ * kTileRows + m % kTileRows;
    for (std::int64_t k = 0; k < depth_; ++k) {
      out[k * kTileRows] = matrix.data[m * matrix.row_stride + k * matrix.column_stride];
    }
  }
}

template <typename Code>
CodeRows::CodeRows(const MatrixView<Code>& matrix, std::vector<std::int16_t> zero_points)
    : rows_(matrix.rows), depth_(matrix.columns), is_signed_(std::is_signed_v<Code>) {
  zero_points_ = std::move(zero_points);
  if (zero_points_.size() == 1) zero_points_.resize(static_cast<std::size_t>(rows_), zero_points_.front());
  // Rows and depth beyond the matrix hold what widens to zero.
  zero_points_.resize(static_cast<std::size_t>(panel_count(rows_) * kTileRows), 0);
  panels_.resize(static_cast<std::size_t>(panel_count(rows_) * kTileRows * pairs() * 2));
  for (std::int64_t m = 0; m < panel_count(rows_) * kTileRows; ++m) {
    std::uint8_t* out = panels_.data() + (m / kTileRows * pairs() * kTileRows + m % kTileRows) * 2;
    for (std::int64_t k = 0; k < 2 * pairs(); ++k) {
      const bool inside = m < rows_ && k < depth_;
      const auto code = inside ? matrix.data[m * matrix.row_stride + k * matrix.column_stride]
                               : static_cast<Code>(zero_points_[static_cast<std::size_t>(m)]);
      out[k / 2 * kTileRows * 2 + k % 2] = static_cast<std::uint8_t>(code);
    }
  }
}
template CodeRows::CodeRows(const MatrixView<std::int8_t>&, std::vector<std::int16_t>);
template CodeRows::CodeRows(const MatrixView<std::uint8_t>&, std::vector<std::int16_t>);

void CodeRows::widen(std::int64_t index, std::int16_t* out) const {
  const std::int64_t length = pairs() * kTileRows * 2;
  const std::uint8_t* codes = panels_.data() + index * length;
  std::array<std::int16_t, 2 * kTileRows> zero{};
  bool any = false;
  for (std::size_t i = 0; i < zero.size(); ++i) {
    zero[i] = zero_points_[static_cast<std::size_t>(index * kTileRows) + i / 2];
    any = any || zero[i] != 0;
  }
  if (is_signed_) {
    for (std::int64_t i = 0; i < length; ++i) out[i] = static_cast<std::int8_t>(codes[i]);
  } else {
    for (std::int64_t i = 0; i < length; ++i) out[i] = codes[i];
  }
  if (!any) return;
  for (std::int64_t k = 0; k < pairs(); ++k) {
    std::int16_t* pair = out + k * 2 * kTileRows;
    for (const std::int16_t subtracted : zero) {
      *pair = static_cast<std::int16_t>(*pair - subtracted);
      ++pair;
    }
  }
}

}  // namespace assay::embedded::engine
