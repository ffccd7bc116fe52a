#include <algorithm>
#include <cmath>

#include "harness/corpus/case.hpp"
#include "harness/corpus/data_sets.hpp"
#include "harness/corpus/tensor_spec.hpp"

namespace assay::corpus {
namespace {

using core::Rng;

/// The batches that hold the two ends of the range. Never the last one where there is a choice, and never both in one,
/// so that a converter that looks at a single batch, first or last, is seen.
struct Extremes {
  std::int64_t low_batch = 0;
  std::int64_t high_batch = 0;
};

double width_of(const FeedSpec& feed, std::int64_t batch) {
  const auto at = static_cast<std::size_t>(batch);
  return at < feed.widths.size() ? feed.widths[at] : 1;
}

/// Of `n` batches.
Extremes choose_extremes(std::int64_t n, Rng rng) {
  if (n == 1) return {0, 0};
  if (n == 2) return {0, 1};
  const std::int64_t low = rng.integer(0, n - 2);
  return {low, (low + rng.integer(1, n - 2)) % (n - 1)};
}

/// Among the batches that have their full width, all of them where none has.
Extremes choose_extremes(const FeedSpec& feed, const std::string& input) {
  std::vector<std::int64_t> full;
  for (std::int64_t batch = 0; batch < feed.batches; ++batch) {
    if (width_of(feed, batch) == 1) full.push_back(batch);
  }
  Rng rng(feed.seed, input + "/extremes");
  if (full.empty()) return choose_extremes(feed.batches, rng);
  const Extremes among = choose_extremes(static_cast<std::int64_t>(full.size()), rng);
  return {full[static_cast<std::size_t>(among.low_batch)], full[static_cast<std::size_t>(among.high_batch)]};
}

/// Puts `value` at a drawn element whose channel has the full magnitude.
void place(const InputPlan& plan, double value, Rng& rng, std::vector<double>& values) {
  if (values.empty()) return;
  auto at = static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(values.size()) - 1));
  for (std::size_t tried = 0; tried < values.size() && factor_at(plan, at) != 1; ++tried) at = (at + 1) % values.size();
  values[at] = value;
}

core::Tensor draw_batch(const InputPlan& plan, const FeedSpec& feed, std::int64_t batch) {
  Rng rng(feed.seed, plan.name + "/batch" + std::to_string(batch));
  std::vector<double> values = draw_usual(plan, rng.uniform(0.55, 0.95), rng);
  for (double& x : values) x *= width_of(feed, batch);
  const bool drawn = plan.spec->kind == "normal" || plan.spec->kind == "uniform";
  const Extremes extremes = choose_extremes(feed, plan.name);
  if (drawn && !core::is_integer(plan.type)) {
    if (batch == extremes.low_batch) place(plan, plan.spec->low, rng, values);
    if (batch == extremes.high_batch) place(plan, plan.spec->high, rng, values);
    if (plan.spec->outlier && batch == extremes.high_batch) place(plan, *plan.spec->outlier, rng, values);
  }
  const auto poison = feed.poison.find(plan.name);
  if (poison != feed.poison.end() && batch == 0 && !values.empty()) values[values.size() / 2] = poison->second;
  for (double& x : values) {
    if (std::isfinite(x)) x = as_element(x, plan.type);
  }
  return make_tensor(plan.type, plan.shape, std::move(values));
}

}  // namespace

core::Result<std::vector<core::TensorMap>> calibration_batches(const Case& test_case, const FeedSpec& feed) {
  auto plans = input_plans(test_case);
  if (!plans) return plans.error();
  std::vector<core::TensorMap> batches;
  for (int batch = 0; batch < feed.batches; ++batch) {
    core::TensorMap tensors;
    for (InputPlan plan : *plans) {
      if (std::find(feed.drop.begin(), feed.drop.end(), plan.name) != feed.drop.end()) continue;
      if (feed.batch && !plan.shape.empty()) plan.shape.front() = *feed.batch;
      if (feed.last_batch && batch + 1 == feed.batches && !plan.shape.empty()) plan.shape.front() = *feed.last_batch;
      tensors.emplace(plan.name, draw_batch(plan, feed, batch));
    }
    batches.push_back(std::move(tensors));
  }
  return batches;
}

}  // namespace assay::corpus
