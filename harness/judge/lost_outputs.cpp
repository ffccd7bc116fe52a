#include "harness/judge/lost_outputs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/judge/deviation.hpp"
#include "harness/judge/facets.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;

// Not derived; what was seen of released converters lies far to both sides (docs/oracle_numerics.md).
constexpr double kLeastDb = 10;
constexpr double kBeyondDrawsDb = 15;
constexpr int kDraws = 4;
constexpr std::size_t kLeastElements = 20;
constexpr std::size_t kMostElements = std::size_t{1} << 20;

/// Clipping, that is: how coarse a step may be is the plan's to say.
bool ranges_are_known(const LayerContext& context, const QuantizationPlan& plan) {
  if (plan.has_inner_roundings()) return false;
  if (context.artifact != nullptr || lists_scales(context.evidence)) return true;
  return context.evidence.options.method == converters::Method::minmax &&
         context.evidence.converter.policy.averaging == "none";
}

/// Without the tenth of the elements that are off most: a pole makes few of them as wrong as it likes.
double trimmed_sqnr_db(const Tensor& expected, const Tensor& actual) {
  constexpr std::size_t kTrimmed = 10;
  Deviation kept = measure_deviation(expected, actual);
  if (!(kept.sqnr_db() < kLeastDb)) return kept.sqnr_db();  // without them it is no lower
  std::vector<double> errors;
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    const double error = actual.reals()[i] - expected.reals()[i];
    errors.push_back(error * error);
  }
  const auto end = errors.end() - static_cast<std::ptrdiff_t>(errors.size() / kTrimmed);
  std::ranges::nth_element(errors, end);
  kept.noise = std::accumulate(errors.begin(), end, 0.0);
  return kept.sqnr_db();
}

/// Every rounded tensor's elements are moved by up to the coarsest legal step before they are rounded: where they lie
/// on codes already, half a step would be rounded away.
void shake(FakeQuantization& prediction, const LayerContext& context, const QuantizationPlan& plan, core::Rng& rng) {
  const auto move = [&](const std::string& tensor) {
    const TensorPtr value = prediction.carried(tensor);
    const auto& roundings = plan.roundings(tensor);
    if (roundings.empty() || !roundings.front().span || value == nullptr || !value->is_real()) return;
    const double step = roundings.front().span->step;
    for (std::size_t i = 0; i < value->reals().size(); ++i) prediction.nudge(tensor, i, rng.uniform(-step, step));
  };
  const model::Graph& graph = context.evidence.model->graph;
  for (const model::ValueInfo& input : graph.inputs) move(input.name);
  for (const model::Node& node : graph.nodes) std::ranges::for_each(node.outputs, move);
}

}  // namespace

std::optional<LostOutput> find_lost_output(const LayerContext& context, const QuantizationPlan& plan,
                                           const std::string& tensor, const Tensor& expected, const Tensor& actual,
                                           const core::TensorMap& inputs) {
  if (expected.reals().size() < kLeastElements) return std::nullopt;
  const double sqnr_db = trimmed_sqnr_db(expected, actual);
  if (!(sqnr_db < kLeastDb) || !ranges_are_known(context, plan)) return std::nullopt;
  FakeQuantization prediction(context, plan);
  if (!prediction.run(inputs)) return std::nullopt;
  std::size_t elements = 0;
  for (const model::Node& node : context.evidence.model->graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (const TensorPtr value = prediction.carried(output)) elements += static_cast<std::size_t>(value->size());
    }
  }
  if (elements > kMostElements) return std::nullopt;

  const auto predicted_db = [&] {
    const TensorPtr value = prediction.value(tensor);
    const bool comparable = value != nullptr && value->is_real() && value->shape() == expected.shape();
    return comparable ? measure_deviation(expected, *value).sqnr_db() : -std::numeric_limits<double>::infinity();
  };
  LostOutput lost{.predicted_db = predicted_db()};
  lost.worst_draw_db = lost.predicted_db;
  core::Rng rng(1, tensor);
  for (int draw = 0; draw < kDraws; ++draw) {
    if (!(sqnr_db < lost.worst_draw_db - kBeyondDrawsDb)) return std::nullopt;
    shake(prediction, context, plan, rng);
    if (!prediction.run(inputs)) return std::nullopt;
    lost.worst_draw_db = std::min(lost.worst_draw_db, predicted_db());
  }
  lost.margin = (lost.worst_draw_db - sqnr_db) / kBeyondDrawsDb;
  return lost.margin > 1 ? std::optional(lost) : std::nullopt;
}

}  // namespace assay::judge
