#include "harness/judge/numerics/headline.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// How far one output lies from the reference's, over the data sets seen so far.
struct Sums {
  Deviation actual, predicted;
  std::size_t sets = 0, predicted_sets = 0;
};

bool comparable(const Tensor& expected, const Tensor& actual) {
  return expected.shape() == actual.shape() && expected.size() > 0;
}

bool finite(const Deviation& deviation) { return std::isfinite(deviation.signal) && std::isfinite(deviation.noise); }

class Headline {
 public:
  Headline(const LayerContext& context, Grounds* grounds) : context_(context), grounds_(grounds) {}

  std::vector<Metric> run() {
    const auto& executions = context_.evidence.executions;
    for (std::size_t i = 0; i < executions.size() && i < context_.reference.size(); ++i) {
      if (context_.reference[i] != nullptr) see(executions[i], *context_.reference[i]);
    }
    for (const auto& [output, sums] : sums_) conclude(output, sums);
    for (const std::optional<Metric>* figure : {&whole_, &worst_}) {
      if (*figure) metrics_.push_back(**figure);
    }
    return std::move(metrics_);
  }

 private:
  void see(const Execution& execution, const core::TensorMap& reference) {
    const FakeQuantization* prediction = grounds_ == nullptr ? nullptr : grounds_->prediction(execution.inputs);
    for (const model::ValueInfo& output : context_.evidence.model->graph.outputs) {
      const auto actual = execution.outputs.find(output.name);
      const auto expected = reference.find(output.name);
      if (actual == execution.outputs.end() || expected == reference.end() ||
          !comparable(expected->second, actual->second)) {
        continue;
      }
      const Deviation deviation = measure_deviation(expected->second, actual->second);
      if (!finite(deviation)) continue;
      Sums& sums = sums_[output.name];
      sums.actual += deviation;
      ++sums.sets;
      keep_least(worst_, {output.name, execution.data_set, "worst_sqnr_db", deviation.sqnr_db()});
      predict(output.name, execution.data_set, expected->second, prediction, sums);
    }
  }

  static void keep_least(std::optional<Metric>& kept, Metric metric) {
    if (std::isfinite(metric.value) && (!kept || metric.value < kept->value)) kept = std::move(metric);
  }

  void predict(const std::string& output, const std::string& data_set, const Tensor& expected,
               const FakeQuantization* prediction, Sums& sums) {
    const core::TensorPtr guess = prediction == nullptr ? nullptr : prediction->value(output);
    if (guess == nullptr || !expected.is_real() || !guess->is_real() || !comparable(expected, *guess)) return;
    const Deviation deviation = measure_deviation(expected, *guess);
    if (!finite(deviation)) return;
    sums.predicted += deviation;
    ++sums.predicted_sets;
    if (data_set != "typical") record(output, data_set, "predicted_sqnr_db", deviation.sqnr_db());
  }

  void conclude(const std::string& output, const Sums& sums) {
    if (sums.sets < 2) return;
    record(output, "", "sqnr_db", sums.actual.sqnr_db());
    keep_least(whole_, {output, "", "whole_sqnr_db", sums.actual.sqnr_db()});
    if (sums.predicted_sets == sums.sets) record(output, "", "predicted_sqnr_db", sums.predicted.sqnr_db());
  }

  void record(const std::string& output, const std::string& data_set, std::string name, double db) {
    if (std::isfinite(db)) metrics_.push_back({output, data_set, std::move(name), db});
  }

  const LayerContext& context_;
  Grounds* grounds_;
  std::map<std::string, Sums> sums_;
  std::optional<Metric> whole_, worst_;
  std::vector<Metric> metrics_;
};

}  // namespace

bool are_alike(const Evidence& evidence) {
  return evidence.inputs_source == DataSource::given || evidence.inputs_source == DataSource::stands_in;
}

std::vector<Metric> measure_headline(const LayerContext& context, Grounds* grounds) {
  return Headline(context, grounds).run();
}

}  // namespace assay::judge
