#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/fourier.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxisIsInput = 20;

struct Transform {
  AxisSplit lines;          ///< of the complex numbers (input) along the axis
  std::int64_t length = 0;  ///< of the transform
  std::int64_t parts = 1;   ///< numbers of each input element: 1 real, 2 complex
  bool inverse = false;
  bool onesided = false;

  [[nodiscard]] std::int64_t out_extent() const { return onesided && !inverse ? length / 2 + 1 : length; }
  [[nodiscard]] std::int64_t out_parts() const { return onesided && inverse ? 1 : 2; }
};

Result<std::int64_t> axis_of(const OpCall& call) {
  const std::int64_t rank = call.in(0).rank();
  Result<std::int64_t> wanted = call.opset >= kAxisIsInput ? -2 : call.node.int_or("axis", 1);
  if (call.opset >= kAxisIsInput && call.has_input(2)) wanted = integer_scalar(call, 2);
  if (!wanted) return wanted;
  auto axis = checked_axis(*wanted, rank);
  if (!axis) return axis;
  if (*axis == rank - 1) return op_error("the last axis holds real and imaginary part; it can't be transformed");
  return axis;
}

Result<Transform> transform_of(const OpCall& call, std::int64_t axis) {
  const Tensor& x = call.in(0);
  Transform result;
  result.parts = x.shape().back();
  result.inverse = call.node.int_or("inverse", 0) != 0;
  result.onesided = call.node.int_or("onesided", 0) != 0;
  result.lines = split_at_axis(std::span(x.shape()).first(x.shape().size() - 1), axis);
  result.length = result.onesided && result.inverse ? 2 * (result.lines.extent - 1) : result.lines.extent;
  if (call.has_input(1)) {
    const auto length = integer_scalar(call, 1);
    if (!length) return length.error();
    result.length = *length;
  }
  const bool parts_fit = result.parts == 1 || result.parts == 2;
  if (!parts_fit || (result.onesided && result.parts != (result.inverse ? 2 : 1))) {
    return op_error(
        fmt::format("{} holds {} numbers in its last axis; expected 1 (real) or 2 (complex), with onesided "
                    "1 forward and 2 inverse",
                    tensor_text(x), result.parts));
  }
  if (result.length < 1 || result.length > kElementLimit) {
    return op_error(fmt::format("the transform has length {}", result.length));
  }
  return result;
}

// ONNX DFT-20 (-17: axis, by default 1, is an attribute): along `axis` (default -2) of x [d…, 1 or 2 numbers], cut or
// continued by zeros to dft_length. onesided: forward only the first length / 2 + 1 results, inverse from these, the
// others being their conjugates, to real numbers.
Result<std::vector<Tensor>> run_dft(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& x = call.in(0);
  if (x.rank() < 2) return op_error(fmt::format("{}, expected a signal axis and one of parts", tensor_text(x)));
  const auto axis = axis_of(call);
  if (!axis) return axis.error();
  const auto transform = transform_of(call, *axis);
  if (!transform) return transform.error();
  const Transform& t = *transform;
  Shape shape = x.shape();
  shape[at(*axis)] = t.out_extent();
  shape.back() = t.out_parts();
  const auto count = checked_count(shape);
  if (!count) return count.error();
  std::vector<double> y(at(*count));
  for (std::int64_t line = 0; line < t.lines.outer * t.lines.inner; ++line) {
    const std::int64_t outer = line / t.lines.inner;
    const std::int64_t inner = line % t.lines.inner;
    std::vector<Complex> signal(at(t.length), 0.0);
    for (std::int64_t i = 0; i < std::min(t.length, t.lines.extent); ++i) {
      const std::int64_t element = ((outer * t.lines.extent + i) * t.lines.inner + inner) * t.parts;
      signal[at(i)] = {x.reals()[at(element)], t.parts == 2 ? x.reals()[at(element + 1)] : 0.0};
    }
    for (std::int64_t i = t.length / 2 + 1; t.onesided && t.inverse && i < t.length; ++i) {
      signal[at(i)] = std::conj(signal[at(t.length - i)]);
    }
    const std::vector<Complex> spectrum = fourier(signal, t.out_extent(), t.inverse);
    for (std::int64_t k = 0; k < t.out_extent(); ++k) {
      const std::int64_t element = ((outer * t.out_extent() + k) * t.lines.inner + inner) * t.out_parts();
      y[at(element)] = spectrum[at(k)].real();
      if (t.out_parts() == 2) y[at(element + 1)] = spectrum[at(k)].imag();
    }
  }
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

Result<Facts> infer_dft(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const TensorFacts& x = call.in(0);
  if (!x.shape) return one(x.type, std::nullopt);
  if (const auto rank = require_least_rank(call, 0, 2); !rank) return rank.error();
  Result<std::optional<double>> wanted = std::optional<double>(-2.0);
  if (call.opset < kAxisIsInput) wanted = std::optional(static_cast<double>(call.node.int_or("axis", 1)));
  if (call.opset >= kAxisIsInput && call.has_input(2)) wanted = scalar_argument(call, 2);
  if (!wanted) return wanted.error();
  const bool onesided = call.node.int_or("onesided", 0) != 0;
  const bool inverse = call.node.int_or("inverse", 0) != 0;
  Dims shape = *x.shape;
  shape.back() = known(onesided && inverse ? 1 : 2);
  if (!*wanted) {  // some axis but the last
    std::fill(shape.begin(), shape.end() - 1, Dimension());
    return one(x.type, std::move(shape));
  }
  const auto axis = checked_axis(static_cast<std::int64_t>(**wanted), *x.rank());
  if (!axis) return axis.error();
  Dimension& extent = shape[at(*axis)];
  Dimension length = extent;
  if (onesided && inverse) length = extent.value ? known(2 * (*extent.value - 1)) : Dimension();
  if (call.has_input(1)) {
    const auto given = scalar_argument(call, 1);
    if (!given) return given.error();
    length = *given ? known(static_cast<std::int64_t>(**given)) : Dimension();
  }
  extent = !onesided || inverse ? length : length.value ? known(*length.value / 2 + 1) : Dimension();
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_dft() {
  static const OpDef def{.name = "DFT", .first_opset = 17, .max_inputs = 3, .run = &run_dft, .infer = &infer_dft};
  return def;
}

}  // namespace assay::reference
