#include "harness/corpus/witness.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "harness/core/dtype.hpp"
#include "reference/windows.hpp"

namespace assay::corpus {
namespace {

using core::QuantParams;
using core::Rng;
using core::Shape;
using reference::Windows;

/// A node that multiplies a graph input by constant weights.
struct Product {
  const model::Node* node = nullptr;
  const core::Tensor* weight = nullptr;
  std::size_t operand = 0;  ///< the graph input's place among the node's inputs
  [[nodiscard]] const std::string& weight_name() const { return node->inputs[1 - operand]; }
};

std::vector<Product> products_of(const model::Graph& graph, const std::string& input) {
  std::vector<Product> products;
  for (const model::Node& node : graph.nodes) {
    const bool matrix = node.op_type == "Gemm" || node.op_type == "MatMul";
    const bool convolution = node.op_type == "Conv" || node.op_type == "ConvTranspose";
    if (!node.domain.empty() || (!matrix && !convolution)) continue;
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}}) {
      if (node.input(operand) != input || (convolution && operand == 1)) continue;
      const core::Tensor* weight = graph.initializer(node.input(1 - operand));
      if (weight != nullptr && weight->is_real()) products.push_back({&node, weight, operand});
    }
  }
  return products;
}

/// One product of a sum: flat indices of the input's element and of the weight's.
struct Tap {
  std::size_t input, weight;
};

/// What each output element of a product sums over. Its elements are told by channel and place: a place is a position
/// of one sample, or a row of the matrix that is not the weight.
class Sums {
 public:
  virtual ~Sums() = default;
  [[nodiscard]] virtual std::int64_t channels() const = 0;
  [[nodiscard]] virtual std::int64_t places() const = 0;
  [[nodiscard]] virtual std::vector<Tap> taps(std::int64_t channel, std::int64_t place) const = 0;
};

class Convolution : public Sums {
 public:
  Convolution(Windows windows, const Shape& input, const Shape& weight, std::int64_t groups, bool transposed)
      : windows_(windows), batch_(input[0]), inputs_(input[1]), groups_(groups), transposed_(transposed) {
    channels_ = transposed ? weight[1] * groups : weight[0];
  }
  [[nodiscard]] std::int64_t channels() const override { return channels_; }
  [[nodiscard]] std::int64_t places() const override { return batch_ * reference::volume(windows_.output); }
  [[nodiscard]] std::vector<Tap> taps(std::int64_t channel, std::int64_t place) const override {
    const std::int64_t in_group = inputs_ / groups_;
    const std::int64_t out_group = channels_ / groups_;
    const std::int64_t kernel = reference::volume(windows_.kernel);
    const std::int64_t sample = place / reference::volume(windows_.output);
    const reference::Extents out = position(place % reference::volume(windows_.output), windows_.output);
    std::vector<Tap> all;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::optional<std::int64_t> inside = read_at(out, position(k, windows_.kernel));
      if (!inside) continue;
      for (std::int64_t i = 0; i < in_group; ++i) {
        const std::int64_t from = channel / out_group * in_group + i;
        const std::int64_t row = transposed_ ? from * out_group + channel % out_group : channel * in_group + i;
        const std::int64_t element = (sample * inputs_ + from) * reference::volume(windows_.input) + *inside;
        all.push_back({static_cast<std::size_t>(element), static_cast<std::size_t>(row * kernel + k)});
      }
    }
    return all;
  }

 private:
  static reference::Extents position(std::int64_t flat, const reference::Extents& extents) {
    return {flat / (extents[1] * extents[2]), flat / extents[2] % extents[1], flat % extents[2]};
  }
  /// Where in a channel of the input the kernel's tap at `tap` reads for the output at `out`; nothing in the padding.
  [[nodiscard]] std::optional<std::int64_t> read_at(const reference::Extents& out,
                                                    const reference::Extents& tap) const {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < reference::kSpatialAxes; ++d) {
      std::int64_t at = out[d] * windows_.stride[d] - windows_.pad_begin[d] + tap[d] * windows_.dilation[d];
      if (transposed_) {
        at = out[d] + windows_.pad_begin[d] - tap[d] * windows_.dilation[d];
        if (at % windows_.stride[d] != 0) return std::nullopt;
        at /= windows_.stride[d];
      }
      if (at < 0 || at >= windows_.input[d]) return std::nullopt;
      flat = flat * windows_.input[d] + at;
    }
    return flat;
  }

  Windows windows_;
  std::int64_t batch_, inputs_, groups_;
  bool transposed_;
  std::int64_t channels_ = 0;
};

/// A matrix, or a batch of them, by a constant matrix.
class MatrixProduct : public Sums {
 public:
  /// The two axes of an operand: extent and distance of elements along what is summed, and along the other one.
  struct Layout {
    std::int64_t depth = 1, depth_stride = 1, others = 1, other_stride = 1;
    [[nodiscard]] std::int64_t size() const { return depth * others; }
  };
  MatrixProduct(Layout input, std::int64_t batch, Layout weight) : input_(input), weight_(weight), batch_(batch) {}
  [[nodiscard]] std::int64_t channels() const override { return weight_.others; }
  [[nodiscard]] std::int64_t places() const override { return batch_ * input_.others; }
  [[nodiscard]] std::vector<Tap> taps(std::int64_t channel, std::int64_t place) const override {
    std::vector<Tap> all;
    const std::int64_t first = place / input_.others * input_.size() + place % input_.others * input_.other_stride;
    for (std::int64_t k = 0; k < input_.depth; ++k) {
      all.push_back({static_cast<std::size_t>(first + k * input_.depth_stride),
                     static_cast<std::size_t>(channel * weight_.other_stride + k * weight_.depth_stride)});
    }
    return all;
  }
  /// Of the left operand the last axis is summed, of the right one the last but one; transposed the other way round.
  static Layout layout(const Shape& shape, bool left, bool transposed) {
    const std::int64_t columns = shape.back();
    const std::int64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
    if (shape.size() == 1) return {columns, 1, 1, 0};
    if (left != transposed) return {columns, 1, rows, columns};
    return {rows, columns, columns, 1};
  }

 private:
  Layout input_, weight_;
  std::int64_t batch_;
};

/// Null where the product is none that ONNX allows: that is somebody else's to say.
std::unique_ptr<Sums> sums_of(const Product& product, const Shape& input, std::int64_t opset) {
  const model::Node& node = *product.node;
  const Shape& weight = product.weight->shape();
  if (node.op_type == "Conv" || node.op_type == "ConvTranspose") {
    const bool transposed = node.op_type == "ConvTranspose";
    const std::int64_t groups = node.int_or("group", 1);
    if (input.size() < 3 || weight.size() != input.size() || groups < 1 || input[1] % groups != 0) return nullptr;
    if (transposed ? weight[0] != input[1] : weight[1] * groups != input[1] || weight[0] % groups != 0) return nullptr;
    const std::span spatial = std::span(input).subspan(2);
    const std::span kernel = std::span(weight).subspan(2);
    const core::Result<Windows> windows = transposed ? reference::transposed_windows(node, spatial, kernel, opset)
                                                     : reference::sliding_windows(node, spatial, kernel, false);
    return windows ? std::make_unique<Convolution>(*windows, input, weight, groups, transposed) : nullptr;
  }
  const bool left = product.operand == 0;
  const auto layout = [&node](const Shape& shape, std::size_t operand) {
    return MatrixProduct::layout(shape, operand == 0, node.int_or(operand == 0 ? "transA" : "transB", 0) != 0);
  };
  if (input.empty() || weight.size() != 2) return nullptr;
  const MatrixProduct::Layout x = layout(input, left ? 0 : 1);
  const MatrixProduct::Layout w = layout(weight, left ? 1 : 0);
  if (x.depth != w.depth || x.size() == 0) return nullptr;
  return std::make_unique<MatrixProduct>(x, core::element_count(input) / x.size(), w);
}

/// Parameters of one scale and zero point; null where there are none or others.
const QuantParams* single(const std::map<std::string, QuantParams>& params, const std::string& tensor) {
  const auto found = params.find(tensor);
  if (found == params.end() || found->second.scale.size() != 1 || found->second.zero_point.size() != 1) return nullptr;
  return found->second.scale[0] > 0 && core::is_integer(found->second.type) ? &found->second : nullptr;
}

/// Makes the elements of one window what its output element is to show.
class Window {
 public:
  Window(const InputPlan& plan, const Product& product, std::vector<Tap> taps, const QuantParams& steps)
      : plan_(plan), product_(product), taps_(std::move(taps)), steps_(steps) {}

  [[nodiscard]] const std::vector<Tap>& taps() const { return taps_; }

  /// Each element at the end of the range that moves the sum up, or down.
  void outermost(bool up, std::vector<double>& values) const {
    for (const Tap& tap : taps_) {
      const bool high = (weight(tap) > 0) == up;
      values[tap.input] = (high ? plan_.spec->high : plan_.spec->low) * factor_at(plan_, tap.input);
    }
  }

  /// Each element nearly half a step from its code, to the side from which rounding moves the sum up, or down.
  void farthest_rounded(bool up, std::vector<double>& values, Rng& rng) const {
    constexpr double kBesideHalf = 1.0 / 64;  // no tie: on which side it rounds isn't open
    const double step = steps_.scale[0];
    for (const Tap& tap : taps_) {
      const auto [low, high] = steps_inside(tap);
      if (low >= high) continue;
      const bool to_next = (weight(tap) > 0) == up;
      const auto below = static_cast<double>(rng.integer(low, high - 1));
      values[tap.input] = (below + 0.5 + (to_next ? kBesideHalf : -kBesideHalf)) * step;
    }
  }

  /// Whole steps whose sum comes next to a half step of the output; false where the output's steps aren't known.
  [[nodiscard]] bool next_to_a_tie(const std::map<std::string, QuantParams>& params, std::int64_t channel,
                                   std::vector<double>& values) const {
    const QuantParams* y = single(params, product_.node->outputs.front());
    const auto found = params.find(product_.weight_name());
    const bool scaled = product_.node->float_or("alpha", 1) != 1 || product_.node->float_or("beta", 1) != 1;
    if (y == nullptr || found == params.end() || scaled || !core::is_integer(found->second.type)) return false;
    const std::vector<double>& scales = found->second.scale;
    const bool by_channel = scales.size() > 1;
    if (by_channel && static_cast<std::size_t>(channel) >= scales.size()) return false;
    const double w_scale = scales[by_channel ? static_cast<std::size_t>(channel) : 0];
    if (!(w_scale > 0)) return false;

    std::vector<std::int64_t> x_codes, w_codes;
    std::int64_t sum = 0;
    for (const Tap& tap : taps_) {
      x_codes.push_back(std::llround(values[tap.input] / steps_.scale[0]));
      w_codes.push_back(std::llround(weight(tap) / w_scale));
      sum += x_codes.back() * w_codes.back();
    }
    std::int64_t missing = nearest_tie(sum, steps_.scale[0] * w_scale / y->scale[0]);
    missing = move_most(missing, w_codes, x_codes);
    move_rest(missing, w_codes, x_codes);
    for (std::size_t i = 0; i < taps_.size(); ++i) {
      values[taps_[i].input] = static_cast<double>(x_codes[i]) * steps_.scale[0];
    }
    return true;
  }

 private:
  [[nodiscard]] double weight(const Tap& tap) const { return product_.weight->reals()[tap.weight]; }

  /// Whole steps inside the calibrated range of an element.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> steps_inside(const Tap& tap) const {
    const double factor = factor_at(plan_, tap.input) / steps_.scale[0];
    return {std::llround(std::ceil(plan_.spec->low * factor)), std::llround(std::floor(plan_.spec->high * factor))};
  }

  /// Whether the code of element `i` may be moved by `steps`.
  [[nodiscard]] bool has_room(std::size_t i, std::int64_t code, std::int64_t steps) const {
    const auto [low, high] = steps_inside(taps_[i]);
    return code + steps >= low && code + steps <= high;
  }

  /// Moves `x_codes` so that their sum grows by as much of `missing` as the largest weights allow; what is left of it.
  [[nodiscard]] std::int64_t move_most(std::int64_t missing, const std::vector<std::int64_t>& w_codes,
                                       std::vector<std::int64_t>& x_codes) const {
    std::vector<std::size_t> order(taps_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return std::abs(w_codes[i]); });
    for (const std::size_t i : order) {
      const std::int64_t steps = w_codes[i] == 0 ? 0 : missing / w_codes[i];
      if (steps == 0 || !has_room(i, x_codes[i], steps)) continue;
      missing -= steps * w_codes[i];
      x_codes[i] += steps;
    }
    return missing;
  }

  /// Moves one code or two by a few steps for the rest, where some do.
  void move_rest(std::int64_t missing, const std::vector<std::int64_t>& w_codes,
                 std::vector<std::int64_t>& x_codes) const {
    constexpr std::int64_t kSteps = 3;
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> by_gain;  // what a move adds → which
    for (std::size_t i = 0; i < taps_.size(); ++i) {
      for (std::int64_t steps = -kSteps; steps <= kSteps; ++steps) {
        if (!has_room(i, x_codes[i], steps)) continue;
        by_gain.try_emplace(steps * w_codes[i], i, steps);
        const auto other = by_gain.find(missing - steps * w_codes[i]);
        if (other == by_gain.end() || (other->second.first == i && other->second.second != 0)) continue;
        x_codes[i] += steps;
        x_codes[other->second.first] += other->second.second;
        return;
      }
    }
  }

  /// How far from `sum` the one is that comes nearest to half a step of the output, `multiplier` steps a unit.
  [[nodiscard]] static std::int64_t nearest_tie(std::int64_t sum, double multiplier) {
    constexpr std::int64_t kReach = 4096;
    std::int64_t best = 0;
    double least = 1;
    for (std::int64_t distance = 0; distance <= kReach; ++distance) {
      for (const std::int64_t moved : {distance, -distance}) {
        const double steps = static_cast<double>(sum + moved) * multiplier;
        const double off = std::fabs(steps - std::floor(steps) - 0.5);
        if (off < least) {
          least = off;
          best = moved;
        }
      }
    }
    return best;
  }

  const InputPlan& plan_;
  const Product& product_;
  std::vector<Tap> taps_;
  const QuantParams& steps_;
};

}  // namespace

std::vector<std::string> witness_tensors(const model::Graph& graph, const std::string& input) {
  std::vector<std::string> names{input};
  for (const Product& product : products_of(graph, input)) {
    names.push_back(product.weight_name());
    names.push_back(product.node->outputs.front());
  }
  return names;
}

std::vector<double> witness(const model::Model& model, const InputPlan& plan,
                            const std::map<std::string, QuantParams>& params, Rng& rng) {
  std::vector<double> values = draw_usual(plan, 0.95, rng);
  const std::vector<Product> products = products_of(model.graph, plan.name);
  std::vector<std::unique_ptr<Sums>> sums;
  for (const Product& product : products) sums.push_back(sums_of(product, plan.shape, model.opset()));
  QuantParams steps{{std::max(plan.spec->high - plan.spec->low, 1e-30) / 255}, {0}, core::DType::int8, std::nullopt};
  if (const QuantParams* own = single(params, plan.name)) steps = *own;

  constexpr std::int64_t kMostTries = 4096;      // of windows, of which those that overlap are left
  constexpr std::int64_t kMostTaps = 1LL << 24;  // looked at for all of them
  std::vector<bool> taken(values.size(), false);
  std::int64_t looked_at = 0;
  std::size_t role = 0;
  for (std::int64_t attempt = 0; attempt < kMostTries && looked_at < kMostTaps && !products.empty(); ++attempt) {
    const std::size_t chosen = static_cast<std::size_t>(attempt) % products.size();
    if (sums[chosen] == nullptr || sums[chosen]->channels() == 0 || sums[chosen]->places() == 0) continue;
    const std::int64_t channel = rng.integer(0, sums[chosen]->channels() - 1);
    const std::int64_t place = rng.integer(0, sums[chosen]->places() - 1);
    const Window window(plan, products[chosen], sums[chosen]->taps(channel, place), steps);
    looked_at += static_cast<std::int64_t>(window.taps().size()) + 1;
    if (window.taps().empty()) continue;
    if (std::ranges::any_of(window.taps(), [&](const Tap& tap) { return taken[tap.input]; })) continue;
    for (const Tap& tap : window.taps()) taken[tap.input] = true;
    const std::size_t turn = role++ % 5;
    const bool up = turn % 2 == 0;
    switch (turn) {
      case 0:
      case 1:
        window.outermost(up, values);
        break;
      case 2:
      case 3:
        window.farthest_rounded(up, values, rng);
        break;
      default:
        if (!window.next_to_a_tie(params, channel, values)) window.farthest_rounded(up, values, rng);
    }
  }
  return values;
}

}  // namespace assay::corpus
