#include "harness/judge/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/deviation.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// SQNR in dB; infinite where nothing differs, NaN where it has no meaning (other shapes, no signal, NaN).
double sqnr_db(const Tensor& expected, const Tensor& actual) {
  const bool comparable = expected.shape() == actual.shape() && expected.is_real() && actual.is_real();
  return comparable ? measure_deviation(expected, actual).sqnr_db() : std::nan("");
}

/// SQNR of every tensor of the original that the artifact computes under the same name.
std::map<std::string, double> shared_tensors(const LayerContext& context, const core::TensorMap& expected) {
  std::map<std::string, double> sqnr;
  reference::RunOptions options;
  options.observe = [&](const std::string& name, const Tensor& value) {
    if (const auto found = expected.find(name); found != expected.end()) {
      if (const double db = sqnr_db(found->second, value); !std::isnan(db)) sqnr.emplace(name, db);
    }
  };
  const auto outputs =
      reference::execute(*context.evidence.artifact, context.evidence.executions.front().inputs, options);
  if (!outputs) sqnr.clear();
  return sqnr;
}

}  // namespace

std::vector<Metric> measure_losses(const LayerContext& context, std::span<const Metric> known) {
  std::vector<Metric> metrics;
  const Evidence& evidence = context.evidence;
  if (context.artifact == nullptr || evidence.artifact == nullptr || evidence.executions.empty() ||
      context.reference.empty() || context.reference.front() == nullptr) {
    return metrics;
  }
  const std::string& data_set = evidence.executions.front().data_set;
  std::map<std::string, double> sqnr = shared_tensors(context, *context.reference.front());
  if (sqnr.empty()) return metrics;
  std::map<std::string, double> predicted;
  for (const Metric& metric : known) {
    if (metric.name == "predicted_sqnr_db" && metric.data_set == data_set) predicted[metric.tensor] = metric.value;
  }
  const model::Graph& graph = evidence.model->graph;
  for (const model::Node& node : graph.nodes) {
    double worst_input = std::numeric_limits<double>::infinity();
    for (const std::string& input : node.inputs) {
      if (const auto found = sqnr.find(input); found != sqnr.end()) {
        worst_input = std::min(worst_input, found->second);
      }
    }
    for (const std::string& output : node.outputs) {
      const auto own = sqnr.find(output);
      if (own == sqnr.end()) {
        sqnr.emplace(output, worst_input);
        continue;
      }
      if (!std::isfinite(own->second)) continue;
      if (graph.find_output(output) == nullptr) {
        metrics.push_back({output, data_set, "sqnr_db", own->second});
        if (const auto guess = predicted.find(output); guess != predicted.end()) {
          metrics.push_back({output, data_set, "inner_deviation_db", own->second - guess->second});
        }
      }
      if (std::isfinite(worst_input)) {
        metrics.push_back({output, data_set, "sqnr_loss_db", worst_input - own->second});
      }
    }
  }
  return metrics;
}

}  // namespace assay::judge
