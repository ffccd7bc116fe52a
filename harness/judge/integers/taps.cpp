#include "harness/judge/integers/taps.hpp"

#include <algorithm>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/broadcast.hpp"
#include "reference/convolution.hpp"
#include "reference/matrix_product.hpp"

namespace assay::judge {
namespace {

using core::Shape;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using reference::Convolution;
using reference::Extents;

Extents coordinates(std::int64_t flat, const Extents& extents) {
  return {flat / (extents[1] * extents[2]), flat / extents[2] % extents[1], flat % extents[2]};
}

std::int64_t flat_of(const Extents& at, const Extents& extents) {
  return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
}

/// The input position that tap `k` joins with output `o` along one axis; nothing where it lies outside.
std::optional<std::int64_t> joined(const Convolution& conv, std::size_t axis, std::int64_t o, std::int64_t k,
                                   bool is_transposed) {
  const reference::Windows& w = conv.windows;
  const std::int64_t reach = k * w.dilation[axis] - w.pad_begin[axis];
  std::int64_t i = o * w.stride[axis] + reach;
  if (is_transposed) {
    if ((o - reach) % w.stride[axis] != 0) {
      return std::nullopt;
    }
    i = (o - reach) / w.stride[axis];
  }
  return i >= 0 && i < w.input[axis] ? std::optional(i) : std::nullopt;
}

std::optional<SumOfProducts> of_convolution(const Convolution& conv, bool is_transposed, std::int64_t flat) {
  const reference::Windows& windows = conv.windows;
  const std::int64_t plane = reference::volume(windows.output);
  const std::int64_t taps = reference::volume(windows.kernel);
  if (plane == 0 || flat >= conv.batch * conv.all_out_channels() * plane) {
    return std::nullopt;
  }
  const Extents out = coordinates(flat % plane, windows.output);
  const std::int64_t m = flat / plane % conv.all_out_channels(), n = flat / plane / conv.all_out_channels();
  const std::int64_t group = m / conv.out_channels;
  SumOfProducts sum;
  sum.bias = m;
  for (std::int64_t c = 0; c < conv.in_channels; ++c) {
    const std::int64_t channel = group * conv.in_channels + c;
    const std::int64_t row =
        is_transposed ? channel * conv.out_channels + m % conv.out_channels : m * conv.in_channels + c;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const Extents k = coordinates(tap, windows.kernel);
      Extents in{};
      bool inside = true;
      for (std::size_t axis = 0; axis < reference::kSpatialAxes && inside; ++axis) {
        const auto i = joined(conv, axis, out[axis], k[axis], is_transposed);
        inside = i.has_value();
        in[axis] = i.value_or(0);
      }
      if (inside) {
        const std::int64_t image = n * conv.groups * conv.in_channels + channel;
        sum.pairs.push_back({image * reference::volume(windows.input) + flat_of(in, windows.input), row * taps + tap});
      }
    }
  }
  return sum;
}

/// Position of an operand that broadcasts to `shape` for the element `flat` there.
std::int64_t broadcast_position(const Shape& from, const Shape& shape, std::int64_t flat) {
  const std::vector<std::int64_t> strides = reference::broadcast_strides(from, shape);
  std::int64_t position = 0;
  for (std::size_t axis = shape.size(); axis-- > 0; flat /= shape[axis]) {
    position += flat % shape[axis] * strides[axis];
  }
  return position;
}

std::optional<SumOfProducts> of_matrices(const Node& node, Shape x, Shape w, const Shape* bias, std::int64_t flat) {
  const bool x_turned = node.int_or("transA", 0) != 0, w_turned = node.int_or("transB", 0) != 0;
  if (x_turned) std::swap(x[0], x[1]);
  if (w_turned) std::swap(w[0], w[1]);
  const auto product = reference::matrix_product(x, w);
  if (!product || flat >= core::element_count(product->output)) {
    return std::nullopt;
  }
  const std::int64_t row = flat / product->columns % product->rows, column = flat % product->columns;
  const std::int64_t matrix = flat / (product->rows * product->columns);
  const std::int64_t x_first = broadcast_position(product->a_batch, product->batch, matrix) * product->rows;
  const std::int64_t w_first = broadcast_position(product->b_batch, product->batch, matrix) * product->depth;
  SumOfProducts sum;
  for (std::int64_t k = 0; k < product->depth; ++k) {
    sum.pairs.push_back({x_turned ? k * product->rows + row : (x_first + row) * product->depth + k,
                         w_turned ? column * product->depth + k : (w_first + k) * product->columns + column});
  }
  if (bias != nullptr) {
    sum.bias = broadcast_position(*bias, product->output, flat);
  }
  return sum;
}

}  // namespace

std::optional<SumOfProducts> SumOfProducts::of(const Node& node, std::int64_t opset, const Shape& x, const Shape& w,
                                               const Shape* bias, std::int64_t flat) {
  const Product product = traits_of(node).product;
  const bool is_transposed = product == Product::transposed_convolution;
  if (product == Product::none || flat < 0) {
    return std::nullopt;
  }
  if (is_convolution(product)) {
    const auto conv = is_transposed ? reference::transposed_convolution(node, x, w, opset)
                                    : reference::sliding_convolution(node, x, w);
    auto sum = conv ? of_convolution(*conv, is_transposed, flat) : std::nullopt;
    if (sum && bias == nullptr) sum->bias.reset();
    return sum;
  }
  return of_matrices(node, x, w, bias, flat);
}

std::vector<Tap> SumOfProducts::taps(const Tensor& x, const Tensor& w) const {
  std::vector<Tap> taps;
  taps.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    taps.push_back({index_text(pair.x, x.shape()), index_text(pair.w, w.shape()), x.as_real(pair.x), w.as_real(pair.w),
                    std::nullopt, std::nullopt});
  }
  return taps;
}

namespace {

/// An operand's codes with the scale and zero_point of each.
struct Coded {
  const core::QuantParams* params = nullptr;
  TensorPtr codes;
  std::optional<ChannelIndex> channels;

  static std::optional<Coded> of(const Operand& operand, const CodeLookup& lookup) {
    if (!operand.params) {
      return std::nullopt;
    }
    Coded coded{&*operand.params, operand.constant_codes, std::nullopt};
    if (coded.codes == nullptr && !operand.codes.empty()) {
      coded.codes = lookup(operand.codes);
    }
    if (coded.codes == nullptr || coded.codes->is_real()) {
      return std::nullopt;
    }
    const auto channels = ChannelIndex::make(coded.codes->shape(), *coded.params);
    if (!channels) {
      return std::nullopt;
    }
    coded.channels = *channels;
    return coded;
  }
  [[nodiscard]] std::size_t channel(std::int64_t flat) const {
    return channels->channel(static_cast<std::size_t>(flat));
  }
  [[nodiscard]] double scale(std::int64_t flat) const { return params->scale[channel(flat)]; }
  [[nodiscard]] std::int64_t zero_point(std::int64_t flat) const { return params->zero_point[channel(flat)]; }
};

}  // namespace

std::optional<Accumulation> accumulate(const Node& node, const ArtifactNode& made, const CodeLookup& lookup,
                                       const SumOfProducts& sum, std::vector<Tap>& taps) {
  if (made.inputs.size() < 2 || sum.pairs.empty() || node.float_or("alpha", 1) != 1 || node.float_or("beta", 1) != 1) {
    return std::nullopt;
  }
  const auto x = Coded::of(made.inputs[0], lookup), w = Coded::of(made.inputs[1], lookup);
  if (!x || !w) {
    return std::nullopt;
  }
  Accumulation result;
  const SumOfProducts::Pair& first = sum.pairs.front();
  result.x_scale = x->scale(first.x);
  result.w_scale = w->scale(first.w);
  result.x_zero_point = x->zero_point(first.x);
  result.w_zero_point = w->zero_point(first.w);
  for (std::size_t k = 0; k < sum.pairs.size(); ++k) {
    const auto [at_x, at_w] = sum.pairs[k];
    if (at_x >= x->codes->size() || at_w >= w->codes->size() || x->scale(at_x) != result.x_scale ||
        w->scale(at_w) != result.w_scale) {
      return std::nullopt;
    }
    const std::int64_t x_code = x->codes->integers()[static_cast<std::size_t>(at_x)];
    const std::int64_t w_code = w->codes->integers()[static_cast<std::size_t>(at_w)];
    result.accumulator += (x_code - x->zero_point(at_x)) * (w_code - w->zero_point(at_w));
    taps[k].x_code = x_code;
    taps[k].w_code = w_code;
  }
  if (made.inputs.size() > 2 && sum.bias && made.inputs[2].constant_codes != nullptr) {
    const Tensor& bias = *made.inputs[2].constant_codes;
    if (bias.is_real() || *sum.bias >= bias.size()) {
      return std::nullopt;
    }
    result.bias_code = bias.integers()[static_cast<std::size_t>(*sum.bias)];
    result.accumulator += *result.bias_code;
  }
  if (!made.outputs.empty()) {
    result.output = made.outputs.front();
  }
  return result;
}

}  // namespace assay::judge
