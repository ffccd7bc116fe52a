#include "harness/judge/numerics/sides_at_ties.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <span>

#include "harness/judge/quantization/noise_draws.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// What decides at a tie: float32's error of a sum of a few products or of a division by a scale.
double side_error(double value, double step) {
  constexpr double kSidesError = 0x1p-20;
  return kSidesError * std::max(step, std::fabs(value));
}

}  // namespace

Tensor SidesAtTies::nearest(const FakeQuantization& prediction, const std::string& output, const Tensor& actual) const {
  const TensorPtr shown = prediction.shown(output), exact = prediction.carried(output);
  Tensor result = *shown;
  const std::optional<CodeSpan> codes = prediction.codes_of(output);
  if (!codes || !exact->is_real() || exact->shape() != result.shape()) return result;
  const std::span<double> out = result.reals();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double value = exact->reals()[i], half = codes->half(value);
    const auto half_off = [&](double code) {
      return std::fabs(std::fabs(code - value) - half) <= side_error(value, codes->step);
    };
    if (half_off(out[i]) && half_off(actual.reals()[i])) out[i] = actual.reals()[i];
  }
  return result;
}

/// In the order of the codes.
std::vector<SidesAtTies::Ties> SidesAtTies::ties_of(const FakeQuantization& prediction,
                                                    const std::string& tensor) const {
  const TensorPtr exact = prediction.carried(tensor), rounded = exact ? prediction.value(tensor) : nullptr;
  const std::optional<CodeSpan> codes = prediction.codes_of(tensor);
  if (rounded == nullptr || !codes || !exact->is_real()) return {};
  std::map<std::int64_t, Ties> by_code;
  for (std::size_t i = 0; i < exact->reals().size(); ++i) {
    const double value = exact->reals()[i], steps = value / codes->step, error = side_error(value, codes->step);
    const bool tie = core::is_real(codes->type)
                         ? std::fabs(std::fabs(rounded->reals()[i] - value) - codes->half(value)) <= error
                         : std::fabs(std::fabs(steps - std::trunc(steps)) - 0.5) * codes->step <= error;
    if (!tie) continue;
    Ties& ties = by_code[std::llround(std::floor(steps))];
    ties.elements.emplace_back(i, (rounded->reals()[i] > value ? -2 : 2) * error);
  }
  std::vector<Ties> all;
  for (auto& [code, ties] : by_code) all.push_back({code, std::move(ties.elements)});
  return all;
}

Tensor SidesAtTies::nearest_inside(const FakeQuantization& prediction, const std::string& output, const Tensor& actual,
                                   const core::TensorMap& inputs) const {
  constexpr std::size_t kMostElements = std::size_t{1} << 24;  // to compute: above, ties are few beside them
  const std::vector<std::string> tensors = all_tensors();
  FakeQuantization other(context_, plan_, supposed_);
  const std::optional<CodeSpan> codes = other.codes_of(output);
  std::size_t computed = 0;
  const auto distance = [&] {
    if (!other.run(inputs)) return std::numeric_limits<double>::infinity();
    for (const std::string& tensor : tensors) {
      if (const TensorPtr value = other.carried(tensor)) computed += static_cast<std::size_t>(value->size());
    }
    // How far what is rounded lies outside of the actual codes' cells: a side counts before it makes another code.
    const TensorPtr exact = other.carried(output);
    if (!exact->is_real()) return noise_power(*exact, actual);
    double sum = 0;
    for (std::size_t i = 0; i < exact->reals().size(); ++i) {
      const double outside = std::max(
          0.0, std::fabs(exact->reals()[i] - actual.reals()[i]) - (codes ? codes->half(actual.reals()[i]) : 0));
      sum += outside * outside;
    }
    return sum;
  };
  double nearest_yet = distance();
  bool stale = false;  // what is computed is of other nudges
  const auto turn = [&](const std::string& tensor, std::span<const std::pair<std::size_t, double>> elements) {
    for (const auto& [element, to_the_other] : elements) other.nudge(tensor, element, to_the_other);
    const double moved = distance();
    stale = !(moved < nearest_yet);
    if (stale)
      for (const auto& [element, to_the_other] : elements) other.nudge(tensor, element, -to_the_other);
    else
      nearest_yet = moved;
    return !stale;
  };
  for (const bool code_by_code : {true, false}) {
    for (bool nearer = true; nearer && computed <= kMostElements;) {
      nearer = false;
      for (const std::string& tensor : tensors) {
        if (stale && !other.run(inputs)) continue;
        stale = false;
        for (const Ties& ties : ties_of(other, tensor)) {
          const std::size_t together = code_by_code ? ties.elements.size() : 1;
          for (std::size_t i = 0; i < ties.elements.size() && computed <= kMostElements; i += together)
            nearer = turn(tensor, std::span(ties.elements).subspan(i, together)) || nearer;
        }
      }
    }
  }
  return nearest(other.run(inputs) ? other : prediction, output, actual);
}

bool SidesAtTies::any_draw(const std::string& output, const core::TensorMap& inputs, const Fits& fits,
                           std::optional<Tensor>& only) const {
  constexpr std::size_t kMostElements = std::size_t{1} << 22;
  enum class Send { each_draws, code_draws, up, down, away, towards };
  using enum Send;
  static constexpr std::array kWays{each_draws, up,         down,       away,       towards,    code_draws, code_draws,
                                    code_draws, code_draws, code_draws, code_draws, code_draws, code_draws, each_draws,
                                    each_draws, each_draws, each_draws, each_draws, each_draws, each_draws, each_draws,
                                    each_draws, each_draws, each_draws, each_draws, each_draws, each_draws, each_draws};
  std::mt19937_64 random(0);
  std::size_t ties_met = 0, computed = 0;
  for (const Send way : kWays) {
    if (computed > kMostElements) return false;
    FakeQuantization other(context_, plan_, supposed_);
    bool stale = true;  // what is computed is of other nudges
    for (const std::string& tensor : all_tensors()) {
      if (stale && !other.run(inputs)) continue;
      stale = false;
      if (const TensorPtr value = other.carried(tensor)) computed += static_cast<std::size_t>(value->size());
      for (const Ties& ties : ties_of(other, tensor)) {
        const bool turns_code = (random() & 1U) == 0;
        for (const auto& [element, to_the_other] : ties.elements) {
          ++ties_met;
          const bool goes_up = to_the_other > 0, below_zero = ties.code < 0;
          const bool turns = way == each_draws   ? (random() & 1U) == 0
                             : way == code_draws ? turns_code
                             : way == up         ? goes_up
                             : way == down       ? !goes_up
                             : way == away       ? goes_up != below_zero
                                                 : goes_up == below_zero;
          if (!turns) continue;
          other.nudge(tensor, element, to_the_other);
          stale = true;
        }
      }
    }
    if (ties_met == 0) return false;
    if (stale && !other.run(inputs)) continue;
    const TensorPtr drawn = other.shown(output);
    if (fits(*drawn)) return true;
    if (!only) only = *drawn;
  }
  only.reset();
  return false;
}

/// Those of the original, in the order in which they are computed.
std::vector<std::string> SidesAtTies::all_tensors() const {
  const model::Graph& graph = context_.evidence.model->graph;
  std::vector<std::string> tensors;
  for (const model::ValueInfo& input : graph.inputs) tensors.push_back(input.name);
  for (const Node& node : graph.nodes) tensors.insert(tensors.end(), node.outputs.begin(), node.outputs.end());
  return tensors;
}

}  // namespace assay::judge
