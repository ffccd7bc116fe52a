#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/shape_rules.hpp"
#include "reference/windows.hpp"

namespace assay::reference {
namespace {

/// Input [N, C * block, L]: column l holds the elements of the window at position l, which are added up in the image.
template <typename T>
std::vector<T> folded(std::span<const T> columns, const Windows& w, std::int64_t planes) {
  const std::int64_t positions = volume(w.output);
  std::vector<T> image(at(planes * volume(w.input)), T{0});
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (std::int64_t tap = 0; tap < volume(w.kernel); ++tap) {
      const Extents k{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
      for (std::int64_t l = 0; l < positions; ++l) {
        const Extents o{l / (w.output[1] * w.output[2]), l / w.output[2] % w.output[1], l % w.output[2]};
        std::int64_t offset = 0;
        bool inside = true;
        for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
          const std::int64_t i = o[axis] * w.stride[axis] - w.pad_begin[axis] + k[axis] * w.dilation[axis];
          inside = inside && i >= 0 && i < w.input[axis];
          offset = offset * w.input[axis] + i;
        }
        if (!inside) continue;
        T& sum = image[at(plane * volume(w.input) + offset)];
        sum = plus(sum, columns[at((plane * volume(w.kernel) + tap) * positions + l)]);
      }
    }
  }
  return image;
}

// ONNX Col2Im-18: the image [N, C, image_shape] whose windows of block_shape (inputs 1 and 2; dilations, pads, strides)
// are the columns of [N, C * block, L]; where windows overlap their elements are added.
Result<std::vector<Tensor>> run_col2_im(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto image = integer_list(call, 1);
  if (!image) return image.error();
  const auto block = integer_list(call, 2);
  if (!block) return block.error();
  const auto windows = sliding_windows(call.node, *image, *block, false);
  if (!windows) return windows.error();
  const std::int64_t taps = volume(windows->kernel);
  if (x.rank() != 3 || x.shape()[1] % taps != 0 || x.shape()[2] != volume(windows->output)) {
    return op_error(fmt::format("{} for blocks {} at {} positions; expected [N, C * {}, {}]", tensor_text(x),
                                core::shape_text(*block), volume(windows->output), taps, volume(windows->output)));
  }
  Shape shape{x.shape()[0], x.shape()[1] / taps};
  shape.insert(shape.end(), image->begin(), image->end());
  if (const auto count = checked_count(shape); !count) return count.error();
  const std::int64_t planes = shape[0] * shape[1];
  if (x.is_real()) return single_output(Tensor(x.type(), shape, folded(x.reals(), *windows, planes)));
  std::vector<std::int64_t> sums = folded(x.integers(), *windows, planes);
  for (std::int64_t& sum : sums) sum = wrap(sum, x.type());
  return single_output(Tensor(x.type(), shape, std::move(sums)));
}

Result<Facts> infer_col2_im(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 3); !rank) return rank.error();
  const TensorFacts& x = call.in(0);
  const auto image = extents_argument(call, 1);
  if (!image) return image.error();
  const auto block = extents_argument(call, 2);
  if (!block) return block.error();
  if (!*image) return one(x.type, std::nullopt);
  Dimension channels;
  if (const auto taps = *block ? product(**block).value : std::nullopt) {
    const auto divisor = divided(extent_of(x, 1), *taps, "the block's elements");
    if (!divisor) return divisor.error();
    channels = *divisor;
  }
  Dims shape{extent_of(x, 0), channels};
  shape.insert(shape.end(), (*image)->begin(), (*image)->end());
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_col2_im() {
  static const OpDef def{.name = "Col2Im",
                         .first_opset = 18,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_col2_im,
                         .infer = &infer_col2_im};
  return def;
}

}  // namespace assay::reference
