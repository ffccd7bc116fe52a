#include "harness/judge/facets/asked_precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/judge/quantization/ways.hpp"

// Which of the nodes that were asked for in INT8 and in float left their roundings in the outputs. Derived in
// docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::TensorPtr;
using model::Node;

constexpr double kFloat32Error = 0x1p-22;  // of an output, between two roundings

class AskedPrecision {
 public:
  AskedPrecision(const LayerContext& context, Grounds& grounds) : context_(context), plan_(grounds.plan()) {}

  void run(PrecisionFindings& out) {
    if (!collect_asked()) return;
    const auto& executions = context_.evidence.executions;
    const auto typical = std::ranges::find(executions, "typical", &Execution::data_set);
    if (typical == executions.end() || typical->reply.outcome != converters::Outcome::ok) return;
    execution_ = &*typical;
    reference_ = context_.reference[static_cast<std::size_t>(typical - executions.begin())].get();
    if (reference_ == nullptr) return;
    const FakeQuantization plain(context_, plan_, {asked_, {}});
    if (!plain.unmodelled().empty() || plain.is_noisiest()) return;
    std::vector<Supposed> forms{{}};
    for (const auto& way : other_ways(context_, plan_, plain)) {
      if (way->folds() || way->supposed().own_groups) return;
      forms.push_back(way->supposed());
    }
    std::vector<double> margins(questioned_.size(), std::numeric_limits<double>::infinity());
    for (Supposed& supposed : alternatives(std::move(forms), plain.optional_roundings())) {
      const std::optional<Outputs> as_asked = outputs(supposed);
      if (!as_asked) return;
      for (std::size_t i = 0; i < questioned_.size(); ++i) {
        bool& in_float = supposed.in_float[questioned_[i]];
        in_float = !in_float;
        const std::optional<Outputs> other = outputs(supposed);
        in_float = !in_float;
        if (!other) return;
        margins[i] = std::min(margins[i], margin(*as_asked, *other));
      }
    }
    for (std::size_t i = 0; i < questioned_.size(); ++i) {
      if (margins[i] > 1) report(questioned_[i], margins[i], out);
    }
  }

 private:
  using Outputs = std::map<std::string, TensorPtr>;

  /// False where it is left open how some node runs.
  bool collect_asked() {
    const Alignment& model = plan_.alignment();
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      const Node& node = context_.evidence.model->graph.nodes[model.operations[i].original];
      const auto demand = demanded_precision(context_.evidence, node);
      if (!demand) continue;
      if (demand->precision == Precision::int8_allowed) return false;
      asked_[i] = is_float(demand->precision);
      // What an operator without weights reads may be rounded for its other readers, however it runs itself.
      if (weight_slots(model.operations[i].node, model.constants)) questioned_.push_back(i);
    }
    return true;
  }

  /// What is asked in each of `forms`, with each of the optional roundings and without; of many, with all, without any
  /// and without one.
  [[nodiscard]] std::vector<Supposed> alternatives(std::vector<Supposed> forms,
                                                   const std::vector<std::string>& optional) const {
    constexpr std::size_t kMostInAllWays = 3;
    std::vector<Supposed> all;
    const auto leave_real = [&](Supposed supposed, const auto& tensors) {
      supposed.stay_real.insert(tensors.begin(), tensors.end());
      all.push_back(std::move(supposed));
    };
    for (Supposed& form : forms) {
      form.in_float = asked_;
      const std::size_t first = all.size();
      all.push_back(form);
      if (optional.size() > kMostInAllWays) {
        leave_real(form, optional);
        for (const std::string& tensor : optional) leave_real(form, std::vector{tensor});
        continue;
      }
      for (const std::string& tensor : optional) {
        for (std::size_t i = first, before = all.size(); i < before; ++i) leave_real(all[i], std::vector{tensor});
      }
    }
    return all;
  }

  [[nodiscard]] std::optional<Outputs> outputs(const Supposed& supposed) const {
    FakeQuantization prediction(context_, plan_, supposed);
    if (!prediction.run(execution_->inputs)) return std::nullopt;
    Outputs values;
    for (const model::ValueInfo& output : context_.evidence.model->graph.outputs) {
      const auto expected = reference_->find(output.name);
      const auto actual = execution_->outputs.find(output.name);
      if (expected == reference_->end() || actual == execution_->outputs.end() || !expected->second.is_real() ||
          !actual->second.is_real() || expected->second.shape() != actual->second.shape() ||
          distinct_values(expected->second.reals(), kDistinctOutputs) < kDistinctOutputs) {
        continue;
      }
      const TensorPtr value = prediction.shown(output.name);
      if (value == nullptr || !value->is_real() || value->shape() != actual->second.shape()) return std::nullopt;
      values[output.name] = value;
    }
    return values;
  }

  /// With a = as asked, d = other − a and f = actual − a: how much of d there is in f, Σfd ÷ Σd², over the half that
  /// lies nearer to the other, or over what f may hold of it by chance where that is more.
  [[nodiscard]] double margin(const Outputs& as_asked, const Outputs& other) const {
    double product = 0, power = 0, products = 0, signal = 0;
    for (const auto& [tensor, value] : as_asked) {
      const auto a = value->reals(), b = other.at(tensor)->reals();
      const auto y = execution_->outputs.at(tensor).reals();
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double d = b[i] - a[i], f = y[i] - a[i];
        product += d * f;
        power += d * d;
        products += d * d * f * f;
        signal += a[i] * a[i];
      }
    }
    if (!(power > kFloat32Error * kFloat32Error * signal)) return 0;
    const double chance = sum_limit(products, alarm_exponent(context_, kBiasShare));
    return product / std::max(power / 2, chance);
  }

  void report(std::size_t operation, double margin, PrecisionFindings& out) const {
    const Node& node = context_.evidence.model->graph.nodes[plan_.alignment().operations[operation].original];
    const bool in_float = asked_.at(operation);
    Finding finding;
    finding.stage = Stage::execute;
    finding.facet = Facet::precision;
    finding.node = node.name;
    finding.op = node.op_type;
    finding.layer = "L2";
    finding.margin = margin;
    finding.message =
        fmt::format("node \"{}\" ({}): expected {}, but the outputs {} the noise that its quantization makes",
                    node.name, node.op_type, in_float ? "a float type" : "int8", in_float ? "hold" : "lack");
    if (out.findings.empty()) out.ran_in_float = !in_float;
    out.findings.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const QuantizationPlan& plan_;
  const Execution* execution_ = nullptr;
  const core::TensorMap* reference_ = nullptr;
  std::map<std::size_t, bool> asked_;    ///< by operation: in float
  std::vector<std::size_t> questioned_;  ///< operations with weights
};

}  // namespace

bool outputs_tell_precision(const LayerContext& context) {
  if (context.artifact != nullptr || context.large || !context.alignment->given.empty()) return false;
  return std::ranges::any_of(context.evidence.model->graph.nodes,
                             [&](const Node& node) { return asked_in_float(context.evidence, node); });
}

void check_asked_precision(const LayerContext& context, Grounds& grounds, PrecisionFindings& precision) {
  AskedPrecision(context, grounds).run(precision);
}

}  // namespace assay::judge
