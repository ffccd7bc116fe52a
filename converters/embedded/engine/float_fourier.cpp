// STFT: spectra of the frames of a signal, each bin a sum of products in float64.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {
namespace {

enum TransformInput : std::size_t { kSignal, kStep, kWindow, kLength };

/// Extents of one STFT.
struct Frames {
  std::int64_t batch = 0, samples = 0, parts = 0;  ///< of the signal; two parts are a complex number
  std::int64_t step = 0, length = 0, count = 0, bins = 0;
};

Result<std::int64_t> scalar_of(const Buffer& value, const char* name) {
  if (!core::is_integer(value.type()) || value.size() != 1) {
    return invalid_data(fmt::format("{} must be one integer", name));
  }
  return value.to_integers().front();
}

Result<Frames> frames_of(const Call& call, bool onesided) {
  if (auto status = expect_inputs(call, 1, DType::float32); !status) return status.error();
  if (!call.has(kStep)) return invalid_model("frame_step is left out, but required");
  const Buffer& x = call.input(kSignal);
  Frames frames;
  // Real signals come without their last axis, too: ONNX Runtime takes them, and published models hold such.
  frames.parts = x.rank() == 3 ? x.shape()[2] : x.rank() == 2 ? 1 : 0;
  if ((frames.parts != 1 && frames.parts != 2) || (frames.parts == 2 && onesided)) {
    return invalid_data(
        fmt::format("signal {}; expected [batch, length, 1], or 2 for complex numbers, whose spectra "
                    "have two sides",
                    core::shape_text(x.shape())));
  }
  frames.batch = x.shape()[0];
  frames.samples = x.shape()[1];
  frames.length = call.has(kWindow) ? call.input(kWindow).size() : frames.samples;
  if (call.has(kLength)) {
    const auto length = scalar_of(call.input(kLength), "frame_length");
    if (!length) return length.error();
    frames.length = *length;
  }
  const auto step = scalar_of(call.input(kStep), "frame_step");
  if (!step) return step.error();
  frames.step = *step;
  const bool window_fits = !call.has(kWindow) || (call.input(kWindow).type() == DType::float32 &&
                                                  call.input(kWindow).shape() == Shape{frames.length});
  if (frames.step < 1 || frames.length < 1 || frames.length > frames.samples || !window_fits) {
    return invalid_data(fmt::format("frames of {} by {} don't fit a signal of {} or the window", frames.length,
                                    frames.step, frames.samples));
  }
  frames.count = (frames.samples - frames.length) / frames.step + 1;
  frames.bins = onesided ? frames.length / 2 + 1 : frames.length;
  return frames;
}

// ONNX STFT-17: the windowed frames' discrete Fourier transforms; onesided leaves out the bins above the middle.
Result<Kernel> make_stft(const Binding& binding) {
  return Kernel([onesided = binding.node.int_or("onesided", 1) != 0](const Call& call) -> Status {
    const auto frames = frames_of(call, onesided);
    if (!frames) return frames.error();
    call.outputs[0] = Buffer(DType::float32, {frames->batch, frames->count, frames->bins, 2});
    const auto length = static_cast<std::size_t>(frames->length);
    std::vector<double> cosines(length), sines(length);
    for (std::size_t i = 0; i < length; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
      cosines[i] = std::cos(angle);
      sines[i] = std::sin(angle);
    }
    const float* window = call.has(kWindow) ? call.input(kWindow).data<float>() : nullptr;
    auto* out = call.outputs[0].data<float>();
    std::vector<double> real(length), imaginary(length, 0.0);
    for (std::int64_t frame = 0; frame < frames->batch * frames->count; ++frame) {
      const float* x = call.input(kSignal).data<float>() +
                       (frame / frames->count * frames->samples + frame % frames->count * frames->step) * frames->parts;
      for (std::size_t i = 0; i < length; ++i) {
        const double weight = window == nullptr ? 1.0 : static_cast<double>(window[i]);
        real[i] = weight * static_cast<double>(*x++);
        if (frames->parts == 2) imaginary[i] = weight * static_cast<double>(*x++);
      }
      for (std::int64_t bin = 0; bin < frames->bins; ++bin) {
        double real_sum = 0, imaginary_sum = 0;
        std::size_t turn = 0;  // bin * i modulo the length: the angle is periodic
        for (std::size_t i = 0; i < length; ++i) {
          real_sum += real[i] * cosines[turn] + imaginary[i] * sines[turn];
          imaginary_sum += imaginary[i] * cosines[turn] - real[i] * sines[turn];
          turn += static_cast<std::size_t>(bin);
          if (turn >= length) turn -= length;
        }
        *out++ = static_cast<float>(real_sum);
        *out++ = static_cast<float>(imaginary_sum);
      }
    }
    return core::success();
  });
}

}  // namespace

void add_fourier_makers(MakerTable& table) { table["STFT"] = &make_stft; }

}  // namespace assay::embedded::engine
