#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/audit/audited_params.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/integers/integer_check.hpp"
#include "harness/judge/numerics/bounds.hpp"
#include "harness/judge/numerics/moment_check.hpp"
#include "harness/judge/numerics/prediction.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::judge::testing {

using core::DType;
using core::Shape;
using core::Tensor;

inline Tensor reals(Shape shape, std::vector<double> values) {
  return {DType::float32, std::move(shape), std::move(values)};
}
inline Tensor codes(DType type, Shape shape, std::vector<std::int64_t> values) {
  return {type, std::move(shape), std::move(values)};
}
inline double float32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// A model from ONNX's text and its initializers. Aborts the test on an error in the text.
inline model::Model parse(const std::string& text, const std::map<std::string, Tensor>& initializers) {
  auto parsed = model::parse_graph_text(text, {{"", 13}});
  if (!parsed) {
    throw std::runtime_error(parsed.error().message);
  }
  for (const auto& [name, tensor] : initializers) {
    parsed->graph.initializers[name] = std::make_shared<const Tensor>(tensor);
  }
  if (const auto status = model::normalize(parsed->graph); !status) {
    throw std::runtime_error(status.error().message);
  }
  return *parsed;
}

/// One layer y = conv(x, w) + b with everything that its quantization needs, and a plain integer engine for it.
struct ConvLayer {
  std::int64_t batch = 1, in = 1, out = 1, size = 1, kernel = 1, pad = 0, group = 1;
  std::vector<double> weights, bias;  ///< float32 values
  double input_scale = 1, output_scale = 1;
  std::int64_t input_zero = 0, output_zero = 0;
  std::vector<double> weight_scale;  ///< one per output channel, or one
  std::vector<std::int64_t> weight_codes, bias_codes;
  DType activation = DType::int8;
  bool relu = false;

  [[nodiscard]] std::int64_t out_size() const { return size + 2 * pad - kernel + 1; }
  [[nodiscard]] std::int64_t products() const { return in / group * kernel * kernel; }
  [[nodiscard]] double scale_of(std::int64_t channel) const {
    return weight_scale.size() == 1 ? weight_scale[0] : weight_scale[static_cast<std::size_t>(channel)];
  }
  [[nodiscard]] core::IntegerLimits limits() const { return core::integer_limits(activation); }

  [[nodiscard]] std::string attributes() const {
    const std::string p = std::to_string(pad);
    return "<kernel_shape=[" + std::to_string(kernel) + "," + std::to_string(kernel) + "], pads=[" + p + "," + p + "," +
           p + "," + p + "], group=" + std::to_string(group) + ">";
  }
  [[nodiscard]] std::string input_text() const {
    return "float[" + std::to_string(batch) + "," + std::to_string(in) + "," + std::to_string(size) + "," +
           std::to_string(size) + "] x";
  }
  [[nodiscard]] Shape weight_shape() const { return {out, in / group, kernel, kernel}; }

  [[nodiscard]] model::Model original() const {
    const std::string last = relu ? " y = Relu(c) }" : " y = Identity(c) }";
    const std::string text =
        "g (" + input_text() + ") => (float[N,C,H,W] y) { " +
        (relu ? "c = Conv " + attributes() + " (x, w, b)" + last : "y = Conv " + attributes() + " (x, w, b) }");
    return parse(text, {{"w", reals(weight_shape(), weights)}, {"b", reals({out}, bias)}});
  }

  [[nodiscard]] model::Model artifact() const {
    const std::string text = "g (" + input_text() + ") => (float[N,C,H,W] y) {" +
                             " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)" +
                             " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)" +
                             " c = Conv " + attributes() + " (xd, wd, bd)" + (relu ? " r = Relu(c)" : "") +
                             " yq = QuantizeLinear(" + (relu ? "r" : "c") +
                             ", ys, yz) y = DequantizeLinear(yq, ys, yz) }";
    std::vector<double> bias_scale;
    for (std::int64_t j = 0; j < out; ++j) {
      bias_scale.push_back(float32(input_scale * scale_of(j)));
    }
    const bool per_axis = weight_scale.size() > 1;
    return parse(
        text,
        {{"xs", Tensor::scalar(DType::float32, input_scale)},
         {"xz", codes(activation, {}, {input_zero})},
         {"ws", reals(per_axis ? Shape{out} : Shape{}, weight_scale)},
         {"wz", codes(DType::int8, per_axis ? Shape{out} : Shape{}, std::vector<std::int64_t>(weight_scale.size(), 0))},
         {"wq", codes(DType::int8, weight_shape(), weight_codes)},
         {"bq", codes(DType::int32, {out}, bias_codes)},
         {"bs", reals({out}, bias_scale)},
         {"ys", Tensor::scalar(DType::float32, output_scale)},
         {"yz", codes(activation, {}, {output_zero})}});
  }

  [[nodiscard]] std::int64_t clamp(double value) const {
    return static_cast<std::int64_t>(
        std::min(std::max(value, static_cast<double>(limits().low)), static_cast<double>(limits().high)));
  }
  /// ONNX's QuantizeLinear of the input in float32.
  [[nodiscard]] std::vector<std::int64_t> input_codes(const Tensor& x) const {
    std::vector<std::int64_t> result;
    for (const double value : x.reals()) {
      const float quotient = static_cast<float>(value) / static_cast<float>(input_scale);
      result.push_back(clamp(std::nearbyint(static_cast<double>(quotient)) + static_cast<double>(input_zero)));
    }
    return result;
  }

  /// `requantize(accumulator, channel)` gives the code before zero_point is added and clamped.
  using Requantize = std::function<double(std::int64_t accumulator, std::int64_t channel)>;
  [[nodiscard]] std::vector<std::int64_t> run(const std::vector<std::int64_t>& x, const Requantize& requantize,
                                              std::int64_t pad_code_minus_zero = 0) const {
    std::vector<std::int64_t> y;
    const std::int64_t per_group_in = in / group;
    const std::int64_t per_group_out = out / group;
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t h = 0; h < out_size(); ++h) {
          for (std::int64_t v = 0; v < out_size(); ++v) {
            std::int64_t sum = bias_codes[static_cast<std::size_t>(o)];
            for (std::int64_t c = 0; c < per_group_in; ++c) {
              for (std::int64_t i = 0; i < kernel; ++i) {
                for (std::int64_t j = 0; j < kernel; ++j) {
                  const std::int64_t row = h + i - pad;
                  const std::int64_t column = v + j - pad;
                  const bool inside = row >= 0 && row < size && column >= 0 && column < size;
                  const std::int64_t channel = o / per_group_out * per_group_in + c;
                  const std::int64_t code =
                      inside
                          ? x[static_cast<std::size_t>(((n * in + channel) * size + row) * size + column)] - input_zero
                          : pad_code_minus_zero;
                  sum +=
                      code * weight_codes[static_cast<std::size_t>(((o * per_group_in + c) * kernel + i) * kernel + j)];
                }
              }
            }
            double code = requantize(sum, o) + static_cast<double>(output_zero);
            if (relu) {
              code = std::max(code, static_cast<double>(output_zero));
            }
            y.push_back(clamp(code));
          }
        }
      }
    }
    return y;
  }

  [[nodiscard]] double multiplier(std::int64_t channel) const { return input_scale * scale_of(channel) / output_scale; }

  [[nodiscard]] Tensor dequantized(const std::vector<std::int64_t>& y) const {
    std::vector<double> values;
    values.reserve(y.size());
    for (const std::int64_t code : y) {
      values.push_back(float32(static_cast<double>(code - output_zero) * output_scale));
    }
    return reals({batch, out, out_size(), out_size()}, values);
  }
  [[nodiscard]] Shape input_shape() const { return {batch, in, size, size}; }
};

/// A layer with random shape (or that of `shape`), weights and correct min-max parameters; `x` are inputs drawn from
/// the calibrated range.
struct RandomLayer {
  ConvLayer layer;
  Tensor x;
};

inline RandomLayer random_layer(core::Rng& rng, bool asymmetric = true, const std::optional<ConvLayer>& shape = {},
                                bool one_sided = false) {
  ConvLayer layer;
  layer.group = rng.integer(1, 2);
  layer.in = layer.group * rng.integer(1, 4);
  layer.out = layer.group * rng.integer(1, 3);
  layer.kernel = rng.integer(1, 3);
  layer.pad = layer.kernel == 1 ? 0 : rng.integer(0, 1);
  layer.size = rng.integer(layer.kernel, 7);
  layer.batch = rng.integer(1, 2);
  layer.relu = rng.integer(0, 1) == 1;
  layer.activation = rng.integer(0, 1) == 1 ? DType::int8 : DType::uint8;
  if (shape) layer = *shape;
  const core::IntegerLimits limits = layer.limits();
  const auto codes_span = static_cast<double>(limits.high - limits.low);

  const double below = rng.uniform(-3, -0.5);
  const double low = one_sided ? 0 : below;  // as behind a Relu
  const double high = rng.uniform(0.5, 3);
  std::vector<double> x(static_cast<std::size_t>(core::element_count(layer.input_shape())));
  for (double& value : x) {
    value = float32(rng.uniform(low, high));
  }
  const auto fit = [&](double lo, double hi, double& scale, std::int64_t& zero) {
    lo = std::min(lo, 0.0);
    hi = std::max(hi, 0.0);
    if (lo == hi) {
      scale = 1;
      zero = 0;
    } else if (asymmetric) {
      scale = float32((hi - lo) / codes_span);
      zero = layer.clamp(std::nearbyint(static_cast<double>(limits.low) - lo / scale));
    } else {
      scale = float32(std::max(-lo, hi) / 127);
      zero = layer.activation == DType::int8 ? 0 : 128;
    }
  };
  fit(*std::min_element(x.begin(), x.end()), *std::max_element(x.begin(), x.end()), layer.input_scale,
      layer.input_zero);

  const bool per_axis = layer.out > 1 && rng.integer(0, 1) == 1;
  const std::int64_t products = layer.products();
  layer.weights.resize(static_cast<std::size_t>(layer.out * products));
  std::vector<double> largest(static_cast<std::size_t>(layer.out), 0.0);
  for (std::int64_t j = 0; j < layer.out; ++j) {
    const double spread = std::exp2(rng.uniform(-4, 2));
    for (std::int64_t k = 0; k < products; ++k) {
      const double value = float32(rng.normal() * spread);
      layer.weights[static_cast<std::size_t>(j * products + k)] = value;
      largest[static_cast<std::size_t>(j)] = std::max(largest[static_cast<std::size_t>(j)], std::fabs(value));
    }
    layer.bias.push_back(float32(rng.normal() * spread));
  }
  double overall = 0;
  for (const double value : largest) {
    overall = std::max(overall, value);
  }
  if (per_axis) {
    for (const double value : largest) {
      layer.weight_scale.push_back(float32(value / 127));
    }
  } else {
    layer.weight_scale = {float32(overall / 127)};
  }
  for (std::int64_t j = 0; j < layer.out; ++j) {
    for (std::int64_t k = 0; k < products; ++k) {
      const double quotient = layer.weights[static_cast<std::size_t>(j * products + k)] / layer.scale_of(j);
      layer.weight_codes.push_back(static_cast<std::int64_t>(std::nearbyint(quotient)));
    }
    layer.bias_codes.push_back(static_cast<std::int64_t>(
        std::nearbyint(layer.bias[static_cast<std::size_t>(j)] / (layer.input_scale * layer.scale_of(j)))));
  }

  // The output's range from the float layer on the same data: the calibration.
  layer.output_scale = 1;
  ConvLayer plain = layer;
  const auto n = static_cast<std::size_t>(layer.out * products);
  double lowest = 0, highest = 0;
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    for (std::int64_t o = 0; o < layer.out; ++o) {
      for (std::int64_t h = 0; h < layer.out_size(); ++h) {
        for (std::int64_t v = 0; v < layer.out_size(); ++v) {
          double sum = layer.bias[static_cast<std::size_t>(o)];
          const std::int64_t per_in = layer.in / layer.group;
          const std::int64_t per_out = layer.out / layer.group;
          for (std::int64_t c = 0; c < per_in; ++c) {
            for (std::int64_t i = 0; i < layer.kernel; ++i) {
              for (std::int64_t j = 0; j < layer.kernel; ++j) {
                const std::int64_t row = h + i - layer.pad, column = v + j - layer.pad;
                if (row < 0 || row >= layer.size || column < 0 || column >= layer.size) {
                  continue;
                }
                const std::int64_t channel = o / per_out * per_in + c;
                const auto w = static_cast<std::size_t>(((o * per_in + c) * layer.kernel + i) * layer.kernel + j);
                sum += layer.weights[std::min(w, n - 1)] *
                       x[static_cast<std::size_t>(((b * layer.in + channel) * layer.size + row) * layer.size + column)];
              }
            }
          }
          if (layer.relu) {
            sum = std::max(sum, 0.0);
          }
          lowest = std::min(lowest, sum);
          highest = std::max(highest, sum);
        }
      }
    }
  }
  fit(lowest, highest, layer.output_scale, layer.output_zero);
  return {layer, reals(layer.input_shape(), x)};
}

/// Everything a layer check reads, kept alive together.
struct Judged {
  corpus::Case test_case;
  model::Model original;
  std::shared_ptr<const model::Model> artifact;
  Evidence evidence;
  std::optional<ArtifactView> view;
  std::optional<PreparedArtifact> walkable;
  Judgement judgement;
  RangeTable ranges;
  std::vector<std::shared_ptr<const core::TensorMap>> reference;
  std::map<std::string, core::QuantParams> audited;

  Judged(model::Model float_model, model::Model quantized)
      : original(std::move(float_model)), artifact(std::make_shared<const model::Model>(std::move(quantized))) {
    evidence.test_case = &test_case;
    evidence.model = &original;
    evidence.artifact = artifact;
    evidence.converter.policy.arithmetic = converters::EngineArithmetic::unknown;
    auto built = ArtifactView::build(artifact, original);
    if (!built) {
      throw std::runtime_error(built.error().message);
    }
    view.emplace(std::move(*built));
  }
  void add(const std::string& data_set, core::TensorMap inputs, core::TensorMap outputs, core::TensorMap trace = {}) {
    Execution execution;
    execution.data_set = data_set;
    execution.inputs = std::move(inputs);
    execution.outputs = std::move(outputs);
    execution.trace = std::move(trace);
    execution.reply.outcome = converters::Outcome::ok;
    evidence.executions.push_back(std::move(execution));
  }
  /// Ranges, audited parameters and reference results from the data sets themselves: what calibration saw.
  void calibrate() {
    reference.clear();
    ranges.clear();
    for (const Execution& execution : evidence.executions) {
      auto values = std::make_shared<core::TensorMap>();
      reference::RunOptions options;
      options.observe = [&](const std::string& name, const Tensor& value) { values->insert_or_assign(name, value); };
      if (const auto outputs = reference::execute(original, execution.inputs, options); !outputs) {
        throw std::runtime_error(outputs.error().message);
      }
      for (const auto& [name, value] : *values) {
        if (!value.is_real()) {
          continue;
        }
        TensorRange& range = ranges[name];
        for (const double v : value.reals()) {
          range.low = range.samples == 0 ? v : std::min(range.low, v);
          range.high = range.samples == 0 ? v : std::max(range.high, v);
          ++range.samples;
        }
        range.is_input = original.graph.find_input(name) != nullptr;
        range.slack = range.is_input ? 0 : 1e-6 * std::max(std::fabs(range.low), std::fabs(range.high));
      }
      reference.push_back(std::move(values));
    }
    for (const auto& [name, range] : ranges) {
      audited[name] = derive_params(range.low, range.high, evidence.options.activation, evidence.options.symmetric,
                                    evidence.converter.policy);
    }
  }
  [[nodiscard]] LayerContext context() {
    const ArtifactView* shown = opaque ? nullptr : &*view;
    return {evidence, shown, align(evidence, shown), reference, &ranges, audited, 1e6};
  }
  /// Null where the converter shows no artifact.
  [[nodiscard]] const PreparedArtifact* prepared() {
    if (opaque) return nullptr;
    auto made = PreparedArtifact::make(*view, evidence);
    if (!made) return nullptr;
    walkable.emplace(*std::move(made));
    return &*walkable;
  }
  std::vector<Finding> integers() {
    judgement = {};
    return check_integers(context(), prepared(), evidence.executions, judgement).findings;
  }
  std::vector<Finding> bounds() {
    judgement = {};
    return bounds(judgement);
  }
  /// As after a check of integers that wrote `out`.
  std::vector<Finding> bounds(Judgement& out) {
    const LayerContext layers = context();
    Grounds grounds(layers);
    return check_bounds(layers, grounds, prepared(), {}, out);
  }
  std::vector<Finding> moments() {
    judgement = {};
    const LayerContext layers = context();
    return check_moments(layers, QuantizationPlan(layers), judgement);
  }
  std::vector<Finding> prediction() {
    judgement = {};
    const LayerContext layers = context();
    Grounds grounds(layers);
    return check_prediction(layers, grounds, judgement);
  }
  bool opaque = false;
};

/// Leaves nothing open of an engine on integers that fuses nothing and shares no scales.
inline void state_policy(converters::Policy& policy) {
  policy.arithmetic = converters::EngineArithmetic::integer;
  policy.folds_bn = true;
  policy.fusions.emplace();
  policy.shares.emplace();
}

/// What such an engine with symmetric codes shows by `outputs` alone.
inline Judged judged_by_outputs(const model::Model& original, const core::TensorMap& inputs, core::TensorMap outputs) {
  Judged judged(original, original);
  judged.opaque = true;
  state_policy(judged.evidence.converter.policy);
  judged.evidence.options.symmetric = true;
  judged.add("typical", inputs, std::move(outputs));
  judged.calibrate();
  return judged;
}

}  // namespace assay::judge::testing
