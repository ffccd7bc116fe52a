#include "harness/conformance/conform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/conformance/categories.hpp"
#include "harness/conformance/difference.hpp"
#include "harness/conformance/float_limits.hpp"
#include "harness/conformance/stored_case.hpp"
#include "reference/executor.hpp"

namespace assay::conformance {
namespace {

using core::Tensor;
using judge::BoundTerm;
using judge::Facet;
using judge::Stage;
using judge::StyleName;
using judge::Verdict;

/// In the order of growing limits.
enum class Limit { storage, arithmetic, statistics };
constexpr StyleName limit_name(Limit limit) {
  return limit == Limit::storage      ? StyleName::storage
         : limit == Limit::arithmetic ? StyleName::arithmetic
                                      : StyleName::statistics;
}

double largest_size(const core::TensorMap& tensors) {
  std::int64_t size = 1;
  for (const auto& [name, tensor] : tensors) {
    size = std::max(size, tensor.size());
  }
  return static_cast<double>(size);
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (const double value : tensor.to_reals()) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  }
  return largest;
}

/// Of what a sum with this result may be made of: it can be far smaller than its terms.
double largest_magnitude(const StoredData& data, const Tensor& output) {
  double largest = largest_magnitude(output);
  for (const auto& [name, tensor] : data.inputs) {
    largest = tensor.is_real() ? std::max(largest, largest_magnitude(tensor)) : largest;
  }
  return largest;
}

/// The coarsest rounding of any real tensor that goes in or out: whoever made the expectation computed in that type.
double coarsest_unit(const StoredData& data) {
  double unit = 0;
  for (const core::TensorMap* tensors : {&data.inputs, &data.outputs}) {
    for (const auto& [name, tensor] : *tensors) {
      unit = tensor.is_real() ? std::max(unit, unit_roundoff(tensor.type())) : unit;
    }
  }
  return unit;
}

/// Compares one data set's outputs; the limits that cost an execution are made when they are needed.
class Comparison {
 public:
  Comparison(const model::Model& model, const StoredData& data) : model_(model), data_(data) {}

  [[nodiscard]] Difference compare(const std::string& name, const Tensor& actual) {
    const Tensor& expected = data_.outputs.at(name);
    limits_.clear();
    if (!expected.is_real()) {
      return conformance::compare(expected, actual, {});
    }
    for (const double value : expected.reals()) {
      limits_.push_back(storage_limit(value, expected.type()));
    }
    storage_ = limits_;
    limit_ = Limit::storage;
    Difference difference = conformance::compare(expected, actual, limits_);
    if (difference.facet != Facet::numerics) {
      return difference;
    }
    widen(name, expected);
    return conformance::compare(expected, actual, limits_);
  }

  /// Of the last tensor compared.
  [[nodiscard]] Limit limit() const { return limit_; }
  [[nodiscard]] std::vector<BoundTerm> terms(std::size_t element) const {
    std::vector<BoundTerm> terms{{"rounding of the stored value", storage_[element]}};
    if (limit_ != Limit::storage) {
      terms.push_back({limit_ == Limit::arithmetic
                           ? "rounding of every float operation, bounded"
                           : "rounding of every float operation, as chance has it: " + no_bound_,
                       limits_[element] - storage_[element]});
    }
    return terms;
  }
  [[nodiscard]] double limit_of(std::size_t element) const { return limits_[element]; }

 private:
  void widen(const std::string& name, const Tensor& expected) {
    if (!arithmetic_) {
      arithmetic_.emplace(arithmetic_limits(model_, data_.inputs, coarsest_unit(data_)));
    }
    if (*arithmetic_) {
      limit_ = Limit::arithmetic;
      const std::vector<double>& limits = (*arithmetic_)->at(name);
      for (std::size_t i = 0; i < limits_.size(); ++i) {
        limits_[i] += limits[i];
      }
      return;
    }
    limit_ = Limit::statistics;
    no_bound_ = arithmetic_->error().message;
    const double limit = statistical_limit(coarsest_unit(data_), largest_size(data_.inputs),
                                           static_cast<double>(expected.size()), largest_magnitude(data_, expected));
    for (double& each : limits_) {
      each += limit;
    }
  }

  const model::Model& model_;
  const StoredData& data_;
  std::optional<core::Result<std::map<std::string, std::vector<double>>>> arithmetic_;
  std::vector<double> storage_, limits_;
  Limit limit_ = Limit::storage;
  std::string no_bound_;
};

/// The verdict on a whole case, tensor by tensor.
class Verdicts {
 public:
  Verdicts() { explained_.judgement.verdict = Verdict::pass; }

  void compare(const model::Model& model, const StoredData& data, const core::TensorMap& outputs) {
    Comparison comparison(model, data);
    for (const model::ValueInfo& output : model.graph.outputs) {
      const Tensor& actual = outputs.at(output.name);
      const Difference difference = comparison.compare(output.name, actual);
      const bool bounded = actual.is_real() && (!difference.facet || difference.facet == Facet::numerics);
      if (bounded) {
        widest_ = std::max(widest_, comparison.limit());
        note(model, data, output.name, actual, difference, comparison);
      }
      if (difference.facet) {
        fail(Stage::judge, *difference.facet, data.name, output.name,
             fmt::format("output \"{}\", {}: {}", output.name, data.name, difference.text), difference.margin);
      }
    }
  }

  void fail(Stage stage, Facet facet, const std::string& data_set, const std::string& tensor, std::string message,
            double margin = 0) {
    judge::Finding finding;
    finding.stage = stage;
    finding.facet = facet;
    finding.tensor = tensor;
    finding.data_set = data_set;
    finding.message = std::move(message);
    finding.margin = margin;
    explained_.judgement.findings.push_back(std::move(finding));
  }

  void stop(const core::Error& error, Stage stage, const model::ModelSurvey& survey) {
    judge::Judgement& judgement = explained_.judgement;
    judgement.node = error.node;
    judgement.op = error.op;
    if (auto category = category_of(survey, error)) {
      judgement.verdict = Verdict::unsupported;
      judgement.stage = stage;
      judgement.reason = *std::move(category);
      return;
    }
    fail(stage, Facet::status, "", error.tensor, error.message);
  }

  [[nodiscard]] judge::Explained settle() {
    judge::Judgement& judgement = explained_.judgement;
    if (!judgement.findings.empty()) {
      const auto first = std::ranges::min_element(judgement.findings, {}, &judge::Finding::facet);
      judgement.verdict = Verdict::fail;
      judgement.stage = first->stage;
      judgement.facet = first->facet;
      judgement.reason = first->message;
    }
    if (judgement.verdict == Verdict::pass || judgement.stage == Stage::judge) {
      if (judgement.margin) judgement.style = limit_name(widest_);
    }
    judgement.gate = judge::default_gate(judgement.verdict);
    return std::move(explained_);
  }

 private:
  /// Keeps the element that comes nearest to its limit, or lies furthest beyond.
  void note(const model::Model& model, const StoredData& data, const std::string& name, const Tensor& actual,
            const Difference& difference, const Comparison& comparison) {
    if (actual.size() == 0 || (explained_.judgement.margin && *explained_.judgement.margin >= difference.margin)) {
      return;
    }
    explained_.judgement.margin = difference.margin;
    judge::BoundDerivation derivation;
    derivation.end_to_end = true;
    if (const auto producer = model::Wiring(model.graph).producer(name)) {
      derivation.node = model.graph.nodes[*producer].name;
      derivation.op = model.graph.nodes[*producer].op_type;
    }
    derivation.tensor = name;
    derivation.index = index_text(difference.worst, actual.shape());
    derivation.data_set = data.name;
    derivation.expected = actual.reals()[difference.worst];  // exact, as far as float64 is
    derivation.actual = data.outputs.at(name).reals()[difference.worst];
    derivation.limit = comparison.limit_of(difference.worst);
    derivation.margin = difference.margin;
    derivation.terms = comparison.terms(difference.worst);
    explained_.explanation.end_to_end = std::move(derivation);
  }

  judge::Explained explained_;
  Limit widest_ = Limit::storage;
};

}  // namespace

judge::Explained conform(const std::filesystem::path& folder) {
  Verdicts verdicts;
  const core::Result<model::ModelSurvey> survey = model::survey_model(folder / "model.onnx");
  const core::Result<StoredCase> stored = load_stored_case(folder);
  if (!survey || !stored) {
    verdicts.stop(stored ? survey.error() : stored.error(), Stage::load, survey ? *survey : model::ModelSurvey{});
    return verdicts.settle();
  }
  for (const StoredData& data : stored->data) {
    const core::Result<core::TensorMap> outputs = reference::execute(stored->model, data.inputs);
    if (!outputs) {
      verdicts.stop(outputs.error(), Stage::execute, *survey);
      break;
    }
    verdicts.compare(stored->model, data, *outputs);
  }
  return verdicts.settle();
}

}  // namespace assay::conformance
