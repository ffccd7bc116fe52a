#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

double mel_of(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double hertz_of(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

/// The spectrogram bin of each edge of the num_mel_bins overlapping triangles. The text leaves open how the edges are
/// spaced and rounded; ONNX's node case divides the range in mel into num_mel_bins + 2 steps, of which the last ends
/// in no edge, and takes the bin (dft_length + 1) * hertz / sample_rate, rounded down.
std::vector<std::int64_t> edges_of(std::int64_t mel_bins, std::int64_t dft_length, double sample_rate, double lower,
                                   double upper) {
  const double step = (mel_of(upper) - mel_of(lower)) / static_cast<double>(mel_bins + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < mel_bins + 2; ++i) {
    const double hertz = hertz_of(mel_of(lower) + static_cast<double>(i) * step);
    edges.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(dft_length + 1) * hertz / sample_rate)));
  }
  return edges;
}

// ONNX MelWeightMatrix-17: [dft_length / 2 + 1, num_mel_bins], column m a triangle over the spectrogram's bins that
// rises from edge m to 1 at edge m + 1 and falls to 0 at edge m + 2.
Result<std::vector<Tensor>> run_mel_weight_matrix(const OpCall& call) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto number = real_scalar(call, i);
    if (!number) return number.error();
    numbers.push_back(*number);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (const auto integer = require_integer(call, i); !integer) return integer.error();
  }
  const auto type = type_argument(call, "output_datatype", DType::float32);
  if (!type) return type.error();
  const std::int64_t mel_bins = call.in(0).integers()[0];
  const std::int64_t dft_length = call.in(1).integers()[0];
  const std::int64_t bins = dft_length / 2 + 1;
  const bool in_order = numbers[2] > 0.0 && numbers[3] >= 0.0 && numbers[3] < numbers[4] && std::isfinite(numbers[4]);
  if (mel_bins < 1 || dft_length < 1 || !in_order) {
    return op_error(fmt::format("{} bands from {} to {} Hz of a DFT of {} at a sample rate of {}", mel_bins, numbers[3],
                                numbers[4], dft_length, numbers[2]));
  }
  const auto count = checked_count(Shape{bins, mel_bins});
  if (!count) return count.error();
  const std::vector<std::int64_t> edges = edges_of(mel_bins, dft_length, numbers[2], numbers[3], numbers[4]);
  if (edges.back() > bins) return op_error(fmt::format("the upper edge lies beyond the {} bins", bins));
  std::vector<double> y(at(*count), 0.0);
  for (std::int64_t m = 0; m < mel_bins; ++m) {
    const std::int64_t lower = edges[at(m)];
    const std::int64_t center = edges[at(m + 1)];
    const std::int64_t upper = edges[at(m + 2)];
    for (std::int64_t bin = lower; bin < std::max(upper, center + 1); ++bin) {
      if (bin >= bins) break;
      double& weight = y[at(bin * mel_bins + m)];
      if (bin == center) {
        weight = 1.0;
      } else if (bin < center) {
        weight = static_cast<double>(bin - lower) / static_cast<double>(center - lower);
      } else {
        weight = static_cast<double>(upper - bin) / static_cast<double>(upper - center);
      }
    }
  }
  Tensor matrix(DType::float64, {bins, mel_bins}, std::move(y));
  return single_output(core::is_real(*type) ? std::move(matrix).relabeled(*type) : cast(matrix, *type));
}

Result<Facts> infer_mel_weight_matrix(const ShapeCall& call) {
  for (std::size_t i = 0; i < 5; ++i) {
    if (const auto single = require_single(call, i); !single) return single.error();
  }
  const auto type = type_argument(call, "output_datatype", DType::float32);
  if (!type) return type.error();
  const auto mel_bins = scalar_argument(call, 0);
  if (!mel_bins) return mel_bins.error();
  const auto dft_length = scalar_argument(call, 1);
  if (!dft_length) return dft_length.error();
  return one(*type, Dims{*dft_length ? known(static_cast<std::int64_t>(**dft_length) / 2 + 1) : Dimension(),
                         *mel_bins ? known(static_cast<std::int64_t>(**mel_bins)) : Dimension()});
}

}  // namespace

const OpDef& op_mel_weight_matrix() {
  static const OpDef def{.name = "MelWeightMatrix",
                         .first_opset = 17,
                         .min_inputs = 5,
                         .max_inputs = 5,
                         .run = &run_mel_weight_matrix,
                         .infer = &infer_mel_weight_matrix};
  return def;
}

}  // namespace assay::reference
