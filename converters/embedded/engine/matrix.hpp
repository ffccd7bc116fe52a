#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "converters/embedded/engine/geometry.hpp"
#include "converters/embedded/engine/loops.hpp"
#include "converters/embedded/engine/policy.hpp"

namespace assay::embedded::engine {

/// A matrix somewhere in memory, addressed by strides in elements.
template <typename Element>
struct MatrixView {
  const Element* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  /// Row `row`, elements first … first+count-1, where they lie or gathered into `scratch`.
  [[nodiscard]] const Element* row(std::int64_t row, std::int64_t first, std::int64_t count, Element* scratch) const {
    const Element* start = data + row * row_stride + first * column_stride;
    if (column_stride == 1) return start;
    for (std::int64_t i = 0; i < count; ++i) scratch[i] = start[i * column_stride];
    return scratch;
  }
  [[nodiscard]] MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// The rows of im2col: one per (channel, kernel position), one column per output position. Nothing is stored; rows are
/// gathered as they are asked for. Positions in the padding read `pad`.
template <typename Element>
class WindowRows {
 public:
  WindowRows(const Element* data, const Window& window, Element pad) : data_(data), window_(window), pad_(pad) {}
  [[nodiscard]] const Element* row(std::int64_t row, std::int64_t first, std::int64_t count, Element* scratch) const {
    const std::int64_t taps = volume(window_.kernel);
    const std::int64_t channel = row / taps;
    const Element* plane = data_ + channel * volume(window_.in);
    if (pointwise_) return plane + first;
    const std::int64_t tap = row % taps;
    const std::int64_t kx = tap % window_.kernel[2];
    const std::int64_t ky = tap / window_.kernel[2] % window_.kernel[1];
    const std::int64_t kz = tap / window_.kernel[2] / window_.kernel[1];
    std::int64_t x = first % window_.out[2];
    std::int64_t y = first / window_.out[2] % window_.out[1];
    std::int64_t z = first / window_.out[2] / window_.out[1];
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t run = std::min(count - done, window_.out[2] - x);
      const std::int64_t iz = z * window_.stride[0] - window_.pad_begin[0] + kz * window_.dilation[0];
      const std::int64_t iy = y * window_.stride[1] - window_.pad_begin[1] + ky * window_.dilation[1];
      if (iz < 0 || iz >= window_.in[0] || iy < 0 || iy >= window_.in[1]) {
        std::fill_n(scratch + done, run, pad_);
      } else {
        fill_run(plane + (iz * window_.in[1] + iy) * window_.in[2],
                 x * window_.stride[2] - window_.pad_begin[2] + kx * window_.dilation[2], run, scratch + done);
      }
      done += run;
      x = 0;
      if (++y == window_.out[1]) {
        y = 0;
        ++z;
      }
    }
    return scratch;
  }

 private:
  void fill_run(const Element* line, std::int64_t ix, std::int64_t run, Element* out) const {
    const std::int64_t stride = window_.stride[2];
    const std::int64_t width = window_.in[2];
    std::int64_t i = 0;
    for (; i < run && ix < 0; ++i, ix += stride) out[i] = pad_;
    const std::int64_t inside = ix < width ? std::min(run - i, (width - ix + stride - 1) / stride) : 0;
    if (stride == 1) {
      std::copy_n(line + (inside > 0 ? ix : 0), inside, out + i);
    } else {
      for (std::int64_t j = 0; j < inside; ++j) out[i + j] = line[ix + j * stride];
    }
    for (i += inside; i < run; ++i) out[i] = pad_;
  }

  const Element* data_;
  Window window_;
  Element pad_;
  bool pointwise_ = window_.is_pointwise();
};

/// Where a transposed convolution's product (channel and kernel position, input position) is added:
/// out[channel] at position * stride - pad + tap * dilation, left out where that is outside.
template <typename Sum>
void scatter_row(const Window& window, std::int64_t row, std::int64_t first, std::int64_t count, const Sum* products,
                 Sum* out);

/// The left operand of a float product, its rows interleaved tile by tile.
class FloatRows {
 public:
  FloatRows() = default;
  explicit FloatRows(const MatrixView<float>& matrix);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t depth() const { return depth_; }
  [[nodiscard]] const float* panel(std::int64_t index) const { return panels_.data() + index * depth_ * kTileRows; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t depth_ = 0;
  std::vector<float> panels_;
};

/// The left operand of an integer product: codes, one byte each, interleaved tile by tile in pairs of the depth.
class CodeRows {
 public:
  CodeRows() = default;
  /// `zero_points` has one value, or one per row.
  template <typename Code>
  CodeRows(const MatrixView<Code>& matrix, std::vector<std::int16_t> zero_points);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t depth() const { return depth_; }
  [[nodiscard]] std::int64_t pairs() const { return (depth_ + 1) / 2; }
  /// Panel `index` as 16 bit values with the zero_point taken off; pairs() * kTileRows * 2 of them.
  void widen(std::int64_t index, std::int16_t* out) const;

 private:
  std::int64_t rows_ = 0;
  std::int64_t depth_ = 0;
  bool is_signed_ = true;
  std::vector<std::uint8_t> panels_;
  std::vector<std::int16_t> zero_points_;
};

/// Columns per block, so that a block of `depth` rows stays in the second cache.
[[nodiscard]] std::int64_t block_columns(std::int64_t depth, std::int64_t element_bytes, std::int64_t columns);

/// left * right for `columns` columns. finish(first row, rows, first column, columns, sums, stride) gets each block of
/// finished sums once; every sum runs over the whole depth in order.
template <typename Right, typename Finish>
void multiply_float(const FloatRows& left, const Right& right, std::int64_t columns, Finish&& finish) {
  const std::int64_t depth = left.depth();
  const std::int64_t block = block_columns(depth, sizeof(float), columns);
  std::vector<float> packed(static_cast<std::size_t>(block * depth));
  std::vector<float> sums(static_cast<std::size_t>(block * kTileRows));
  std::vector<float> scratch(static_cast<std::size_t>(block));
  for (std::int64_t first = 0; first < columns; first += block) {
    const std::int64_t count = std::min(block, columns - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* row = right.row(k, first, count, scratch.data());
      for (std::int64_t j = 0; j < count; j += kTileColumns) {
        float* out = packed.data() + j * depth + k * kTileColumns;
        const std::int64_t width = std::min(kTileColumns, count - j);
        std::copy_n(row + j, width, out);
        std::fill(out + width, out + kTileColumns, 0.0F);
      }
    }
    for (std::int64_t m = 0; m < left.rows(); m += kTileRows) {
      for (std::int64_t j = 0; j < count; j += kTileColumns) {
        loops().float_tile(left.panel(m / kTileRows), packed.data() + j * depth, depth, sums.data() + j, block);
      }
      finish(m, std::min(kTileRows, left.rows() - m), first, count, sums.data(), block);
    }
  }
}

using CodeTile = void (*)(const std::int16_t*, const std::int16_t*, std::int64_t, std::int32_t*, std::int64_t);
/// The tile that sums as `accumulator` says.
[[nodiscard]] CodeTile code_tile(Accumulator accumulator);

/// The same on codes; `zero_point` is taken off the right operand's.
template <typename Code, typename Right, typename Finish>
void multiply_codes(const CodeRows& left, const Right& right, std::int64_t columns, std::int16_t zero_point,
                    CodeTile tile, Finish&& finish) {
  const std::int64_t depth = left.depth();
  const std::int64_t pairs = left.pairs();
  const std::int64_t block = block_columns(2 * pairs, sizeof(std::int16_t), columns);
  std::vector<std::int16_t> packed(static_cast<std::size_t>(block * 2 * pairs), 0);
  std::vector<std::int16_t> panel(static_cast<std::size_t>(2 * pairs * kTileRows));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(block * kTileRows));
  std::vector<Code> scratch(static_cast<std::size_t>(2 * block));
  const auto interleave = [&](const Code* even, const Code* odd, std::int64_t count, std::int16_t* out) {
    if constexpr (std::is_signed_v<Code>) {
      loops().interleave_int8(even, odd, count, zero_point, out);
    } else {
      loops().interleave_uint8(even, odd, count, zero_point, out);
    }
  };
  for (std::int64_t first = 0; first < columns; first += block) {
    const std::int64_t count = std::min(block, columns - first);
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      // Beyond an odd depth the left operand is zero, so the even row may stand in for the missing one.
      const Code* even = right.row(2 * pair, first, count, scratch.data());
      const Code* odd = 2 * pair + 1 < depth ? right.row(2 * pair + 1, first, count, scratch.data() + block) : even;
      for (std::int64_t j = 0; j < count; j += kTileColumns) {
        interleave(even + j, odd + j, std::min(kTileColumns, count - j),
                   packed.data() + (j * pairs + pair * kTileColumns) * 2);
      }
    }
    for (std::int64_t m = 0; m < left.rows(); m += kTileRows) {
      left.widen(m / kTileRows, panel.data());
      for (std::int64_t j = 0; j < count; j += kTileColumns) {
        tile(panel.data(), packed.data() + j * pairs * 2, pairs, sums.data() + j, block);
      }
      finish(m, std::min(kTileRows, left.rows() - m), first, count, sums.data(), block);
    }
  }
}

template <typename Sum>
void scatter_row(const Window& window, std::int64_t row, std::int64_t first, std::int64_t count, const Sum* products,
                 Sum* out) {
  const std::int64_t taps = volume(window.kernel);
  const std::int64_t tap = row % taps;
  const std::int64_t kx = tap % window.kernel[2];
  const std::int64_t ky = tap / window.kernel[2] % window.kernel[1];
  const std::int64_t kz = tap / window.kernel[2] / window.kernel[1];
  Sum* plane = out + row / taps * volume(window.out);
  std::int64_t x = first % window.in[2];
  std::int64_t y = first / window.in[2] % window.in[1];
  std::int64_t z = first / window.in[2] / window.in[1];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t run = std::min(count - done, window.in[2] - x);
    const std::int64_t oz = z * window.stride[0] - window.pad_begin[0] + kz * window.dilation[0];
    const std::int64_t oy = y * window.stride[1] - window.pad_begin[1] + ky * window.dilation[1];
    if (oz >= 0 && oz < window.out[0] && oy >= 0 && oy < window.out[1]) {
      Sum* line = plane + (oz * window.out[1] + oy) * window.out[2];
      std::int64_t ox = x * window.stride[2] - window.pad_begin[2] + kx * window.dilation[2];
      for (std::int64_t i = 0; i < run; ++i, ox += window.stride[2]) {
        if (ox < 0 || ox >= window.out[2]) continue;
        if constexpr (std::is_integral_v<Sum>) {
          using Wide = std::make_unsigned_t<Sum>;  // wraps, as the accumulator does
          line[ox] = static_cast<Sum>(static_cast<Wide>(line[ox]) + static_cast<Wide>(products[done + i]));
        } else {
          line[ox] += products[done + i];
        }
      }
    }
    done += run;
    x = 0;
    if (++y == window.in[1]) {
      y = 0;
      ++z;
    }
  }
}

}  // namespace assay::embedded::engine
