#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/fourier.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kSignal, kStep, kWindow, kLength };

/// frame_length, or else the window's, or else the signal's.
Result<std::int64_t> frame_length_of(const OpCall& call) {
  Result<std::int64_t> length = call.in(kSignal).shape()[1];
  if (call.has_input(kWindow)) length = call.in(kWindow).size();
  if (call.has_input(kLength)) length = integer_scalar(call, kLength);
  if (!length) return length;
  if (*length < 1 || *length > call.in(kSignal).shape()[1] ||
      (call.has_input(kWindow) && call.in(kWindow).shape() != Shape{*length})) {
    return op_error(fmt::format("frames of {} in a signal {}, window {}", *length, tensor_text(call.in(kSignal)),
                                call.has_input(kWindow) ? tensor_text(call.in(kWindow)) : "left out"));
  }
  return length;
}

// ONNX STFT-17: the DFT of each frame of the signal [batch, length, 1 or 2 numbers], frame f starting at f *
// frame_step, times the window: [batch, frames, bins, 2]. onesided (default): the first frame_length / 2 + 1 bins, of
// real signals. ONNX Runtime takes real signals without the last axis, too, and published models hold such.
Result<std::vector<Tensor>> run_stft(const OpCall& call) {
  if (const auto real = require_real(call, kSignal); !real) return real.error();
  if (call.has_input(kWindow)) {
    if (const auto real = require_real(call, kWindow); !real) return real.error();
  }
  const Tensor& x = call.in(kSignal);
  const bool onesided = call.node.int_or("onesided", 1) != 0;
  const std::int64_t parts = x.rank() == 3 ? x.shape()[2] : x.rank() == 2 ? 1 : 0;
  if ((parts != 1 && parts != 2) || (onesided && parts == 2)) {
    return op_error(
        fmt::format("signal {} with onesided {}; expected [batch, length, 1], or 2 for complex numbers, "
                    "which have two sides",
                    tensor_text(x), onesided ? 1 : 0));
  }
  const auto step = integer_scalar(call, kStep);
  if (!step) return step.error();
  const auto length = frame_length_of(call);
  if (!length) return length.error();
  if (*step < 1) return op_error(fmt::format("frame_step is {}", *step));
  const std::int64_t frames = (x.shape()[1] - *length) / *step + 1;
  const std::int64_t bins = onesided ? *length / 2 + 1 : *length;
  const Shape shape{x.shape()[0], frames, bins, 2};
  if (const auto count = checked_count(shape); !count) return count.error();
  std::vector<double> y;
  for (std::int64_t batch = 0; batch < x.shape()[0]; ++batch) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      std::vector<Complex> windowed;
      for (std::int64_t i = 0; i < *length; ++i) {
        const std::int64_t element = (batch * x.shape()[1] + frame * *step + i) * parts;
        const double weight = call.has_input(kWindow) ? call.in(kWindow).reals()[at(i)] : 1.0;
        windowed.emplace_back(weight * x.reals()[at(element)], parts == 2 ? weight * x.reals()[at(element + 1)] : 0.0);
      }
      for (const Complex& bin : fourier(windowed, bins, false)) {
        y.push_back(bin.real());
        y.push_back(bin.imag());
      }
    }
  }
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

Result<Facts> infer_stft(const ShapeCall& call) {
  const TensorFacts& x = call.in(kSignal);
  if (x.rank() != 2) {
    if (const auto rank = require_rank(call, kSignal, 3); !rank) return rank.error();
  }
  Dimension length = extent_of(x, 1);
  if (call.has_input(kWindow)) length = call.in(kWindow).size();
  if (call.has_input(kLength)) {
    const auto given = scalar_argument(call, kLength);
    if (!given) return given.error();
    length = *given ? known(static_cast<std::int64_t>(**given)) : Dimension();
  }
  const auto step = scalar_argument(call, kStep);
  if (!step) return step.error();
  Dimension frames;
  Dimension bins = length;
  if (call.node.int_or("onesided", 1) != 0) bins = length.value ? known(*length.value / 2 + 1) : Dimension();
  if (const Dimension signal = extent_of(x, 1); signal.value && length.value && *step && **step >= 1.0) {
    frames = known((*signal.value - *length.value) / static_cast<std::int64_t>(**step) + 1);
  }
  return one(x.type, Dims{extent_of(x, 0), frames, bins, known(2)});
}

}  // namespace

const OpDef& op_stft() {
  static const OpDef def{
      .name = "STFT", .first_opset = 17, .min_inputs = 2, .max_inputs = 4, .run = &run_stft, .infer = &infer_stft};
  return def;
}

}  // namespace assay::reference
