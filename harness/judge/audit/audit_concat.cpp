#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

/// The real values that per-tensor parameters can express.
Interval expressible(const QuantParams& params) {
  const auto limits = core::integer_limits(params.type);
  return {reference::dequantize(limits.low, params.scale.front(), params.zero_point.front()),
          reference::dequantize(limits.high, params.scale.front(), params.zero_point.front())};
}

double rounding_error(double value, const QuantParams& params) {
  const auto code = reference::quantize(value, params.scale.front(), params.zero_point.front(), params.type);
  return value - reference::dequantize(code, params.scale.front(), params.zero_point.front());
}

/// Parameters that codes can be made with, the same for every element.
bool is_usable(const std::optional<QuantParams>& params) {
  return params && params->scale.size() == 1 && params->zero_point.size() == 1 &&
         std::isfinite(params->scale.front()) && params->scale.front() > 0;
}

/// A Concat of the original with the parameters that are declared around it.
struct Site {
  const model::Node* node = nullptr;
  QuantParams out;
  struct Branch {
    std::string tensor;
    QuantParams params;
  };
  std::vector<Branch> branches;
};

/// Mean squared errors of a Concat's reference values under the declared and under a covering range.
struct Comparison {
  double declared = 0, covering = 0;
  bool significant = false;  ///< the mean difference exceeds t standard errors
  [[nodiscard]] double loss_db() const {
    constexpr double kDecibel = 10;
    return declared > 0 && covering > 0 ? kDecibel * std::log10(declared / covering) : 0;
  }
};

class ConcatAudit {
 public:
  ConcatAudit(const LayerContext& context, Judgement& out)
      : context_(context), out_(out), graph_(context.evidence.model->graph), wiring_(graph_) {}

  std::vector<Finding> run() {
    // Under min-max the audit of the output's own range is the sharper check.
    if (context_.evidence.options.method == converters::Method::minmax) return {};
    for (const Site& site : context_.artifact != nullptr ? artifact_sites() : table_sites()) {
      // One in float has no branches that are brought to one scale.
      if (!asked_in_float(context_.evidence, *site.node) && !clipped_afterwards(*site.node)) check(site);
    }
    return std::move(findings_);
  }

 private:
  /// Where calibration saw nothing but zeros any scale will do, and that scale asks nothing of the Concat.
  bool is_always_zero(const std::string& tensor) const {
    if (context_.ranges == nullptr) return false;
    const auto range = context_.ranges->find(tensor);
    return range != context_.ranges->end() && range->second.low == 0 && range->second.high == 0;
  }

  std::vector<Site> artifact_sites() const {
    std::vector<Site> sites;
    for (const ArtifactNode& node : context_.artifact->nodes()) {
      if (traits_of(node.op).movement != Movement::joins || !node.original || node.outputs.empty() ||
          !is_usable(node.outputs.front()))
        continue;
      Site site{&graph_.nodes[*node.original], *node.outputs.front(), {}};
      for (const Operand& branch : node.inputs) {
        if (is_usable(branch.params) && !branch.original.empty() && !is_always_zero(branch.original)) {
          site.branches.push_back({branch.original, *branch.params});
        }
      }
      sites.push_back(std::move(site));
    }
    return sites;
  }

  std::vector<Site> table_sites() const {
    std::map<std::string, QuantParams> table;
    for (const converters::TensorScale& tensor : context_.evidence.conversion.tensors) {
      if (is_usable(tensor.params)) table.emplace(tensor.name, tensor.params);
    }
    std::vector<Site> sites;
    for (const model::Node& node : graph_.nodes) {
      const auto out = traits_of(node).movement == Movement::joins ? table.find(node.outputs.front()) : table.end();
      if (out == table.end()) continue;
      Site site{&node, out->second, {}};
      for (const std::string& input : node.inputs) {
        if (const auto branch = table.find(input); branch != table.end() && !is_always_zero(input)) {
          site.branches.push_back({input, branch->second});
        }
      }
      sites.push_back(std::move(site));
    }
    return sites;
  }

  /// A Relu or Clip that alone reads the Concat may lend it its own, narrower range.
  bool clipped_afterwards(const model::Node& node) const {
    const std::string& output = node.outputs.front();
    const auto& consumers = wiring_.consumers(output);
    if (wiring_.is_output(output) || consumers.size() != 1) return false;
    return traits_of(graph_.nodes[consumers.front()]).clamp != Clamp::none;
  }

  /// One finding a Concat: of the wider branch that it would gain most by.
  void check(const Site& site) {
    const Interval narrow = expressible(site.out);
    const double step = site.out.scale.front();
    const Site::Branch* worst = nullptr;
    Comparison most;
    for (const Site::Branch& branch : site.branches) {
      const Interval wide = expressible(branch.params);
      if (wide.low >= narrow.low - step && wide.high <= narrow.high + step) continue;
      const Comparison errors = compare(site, std::min(wide.low, narrow.low), std::max(wide.high, narrow.high));
      if (worst == nullptr ||
          std::pair(errors.significant, errors.loss_db()) > std::pair(most.significant, most.loss_db())) {
        worst = &branch;
        most = errors;
      }
    }
    if (worst == nullptr) return;
    const std::string& output = site.node->outputs.front();
    const Interval wide = expressible(worst->params);
    Finding finding = audit_finding(
        Facet::scale, output,
        fmt::format(
            "node \"{}\" (Concat), output \"{}\": scale {:.9g} is narrower than branch \"{}\"'s own {:.9g}: codes "
            "reach [{:.9g}, {:.9g}], the branch's [{:.9g}, {:.9g}]\n"
            "  mean squared error of \"{}\" {:.3g}; requantized to the branch's range {:.3g}: {:.1f} dB are lost",
            site.node->name, output, step, worst->tensor, worst->params.scale.front(), narrow.low, narrow.high,
            wide.low, wide.high, output, most.declared, most.covering, most.loss_db()));
    finding.amber = !most.significant;
    finding.op = site.node->op_type;
    finding.node = site.node->name;
    findings_.push_back(std::move(finding));
    out_.metrics.push_back({output, "", "range_loss_db", most.loss_db()});
  }

  /// What the user or the case feeds as ordinary data.
  static bool is_typical(const std::string& data_set) {
    return data_set == "typical" || data_set.starts_with("inputs_");
  }

  Comparison compare(const Site& site, double low, double high) const {
    const QuantParams covering = derive_params(low, high, site.out.type, context_.evidence.options.symmetric, {});
    double sum_declared = 0, sum_covering = 0, squares = 0, count = 0;
    for (std::size_t i = 0; i < context_.reference.size(); ++i) {
      if (context_.reference[i] == nullptr || !is_typical(context_.evidence.executions[i].data_set)) continue;
      const auto values = context_.reference[i]->find(site.node->outputs.front());
      if (values == context_.reference[i]->end() || !values->second.is_real()) continue;
      for (const double value : values->second.reals()) {
        if (!std::isfinite(value)) continue;
        const double a = std::pow(rounding_error(value, site.out), 2), b = std::pow(rounding_error(value, covering), 2);
        sum_declared += a;
        sum_covering += b;
        squares += (a - b) * (a - b);
        ++count;
      }
    }
    if (count < 2) return {};
    const double mean = (sum_declared - sum_covering) / count;
    const double variance = std::max(0.0, squares / count - mean * mean) / (count - 1);
    return {sum_declared / count, sum_covering / count, mean > context_.threshold() * std::sqrt(variance)};
  }

  const LayerContext& context_;
  Judgement& out_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_concats(const LayerContext& context, Judgement& out) {
  return ConcatAudit(context, out).run();
}

}  // namespace assay::judge
