#include "harness/judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/artifact_in_float.hpp"
#include "harness/judge/alignment/calibrated_network.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/alignment/rescaled.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/artifact/evident_options.hpp"
#include "harness/judge/audit/assumed_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/evidence/range_search.hpp"
#include "harness/judge/facets/asked_precision.hpp"
#include "harness/judge/facets/coverage.hpp"
#include "harness/judge/facets/facets.hpp"
#include "harness/judge/facets/hints.hpp"
#include "harness/judge/facets/output_grid.hpp"
#include "harness/judge/integers/certificate.hpp"
#include "harness/judge/integers/integer_check.hpp"
#include "harness/judge/integers/integer_memo.hpp"
#include "harness/judge/integers/overflow.hpp"
#include "harness/judge/numerics/bounds.hpp"
#include "harness/judge/numerics/headline.hpp"
#include "harness/judge/numerics/input_rounding.hpp"
#include "harness/judge/numerics/loss.hpp"
#include "harness/judge/numerics/metrics.hpp"
#include "harness/judge/numerics/moment_check.hpp"
#include "harness/judge/numerics/prediction.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/judge/reference_cache.hpp"

namespace assay::judge {
namespace {

Judgement harness_error(Stage stage, std::string reason, const core::Error& error) {
  Judgement out = own_fault(error);
  // Above the opset that ONNX's checker knows, a node that breaks its operator's rule is first seen when it runs.
  if (error.kind == core::ErrorKind::invalid_model) out.verdict = Verdict::invalid_case;
  out.gate = default_gate(out.verdict);
  out.stage = stage;
  out.reason = std::move(reason);
  return out;
}

void append(std::vector<Finding>& all, std::vector<Finding> more) { std::ranges::move(more, std::back_inserter(all)); }

/// Is the case somebody else's (real models, stored data)? Then data that can't discriminate are amber.
bool is_imported(const corpus::Case& test_case) {
  return test_case.stored_data.has_value() || std::ranges::find(test_case.tags, "imported") != test_case.tags.end();
}

bool is_large(const core::TensorMap& tensors) {
  constexpr std::int64_t kLargeElements = 2'000'000;
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) elements += tensor.size();
  return elements > kLargeElements;
}

std::shared_ptr<const core::TensorMap> only_outputs(const core::TensorMap& tensors, const model::Graph& graph) {
  core::TensorMap outputs;
  for (const model::ValueInfo& output : graph.outputs) {
    if (const auto found = tensors.find(output.name); found != tensors.end()) outputs.insert(*found);
  }
  return std::make_shared<const core::TensorMap>(std::move(outputs));
}

/// N as this verdict sees it: every planned verdict may spend the same share of α, this one on its own elements. No
/// test sees less than one element of an output, or one tensor.
double judged_elements(const Evidence& evidence, std::size_t planned_verdicts) {
  double own = evidence.model == nullptr ? 1 : static_cast<double>(evidence.model->graph.nodes.size() + 1);
  for (const Execution& execution : evidence.executions) {
    for (const auto& [name, output] : execution.outputs) {
      own += static_cast<double>(output.size());
    }
  }
  return own * static_cast<double>(std::max<std::size_t>(planned_verdicts, 1));
}

class Judge {
 public:
  Judge(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts, Depth depth,
        Explanation* explanation = nullptr)
      : evidence_(evidence),
        cache_(cache),
        depth_(depth),
        context_{evidence, nullptr, nullptr, {}, nullptr, {}, judged_elements(evidence, planned_verdicts)} {
    context_.explanation = explanation;
  }

  Judgement run() {
    if (auto settled = settle_status(evidence_)) return std::move(*settled);
    if (auto failed = prepare()) return std::move(*failed);
    if (context_.explanation != nullptr) context_.explanation->tensors = tensor_parameters(context_);
    out_.findings = evidence_.recorded;
    if (unreadable_) out_.findings.push_back(std::move(*unreadable_));
    open_coverage();
    std::vector<Finding> structure = check_outputs(context_);
    const bool comparable = structure.empty();
    append(out_.findings, std::move(structure));
    append(out_.findings, check_diagnostics(evidence_));
    PrecisionFindings precision;
    if (!settled()) {
      precision = check_precision(context_);
      if (precision.noise_decides) check_noise(context_, grounds(), precision);
      if (precision.findings.empty() && outputs_tell_precision(context_)) {
        check_asked_precision(context_, grounds(), precision);
      }
    }
    append(out_.findings, std::move(precision.findings));
    if (comparable && !settled()) append(out_.findings, check_output_grid(context_));
    if (precision.noise_ratio) out_.metrics.push_back({"", "typical", "noise_ratio", *precision.noise_ratio});
    if (!settled()) append(out_.findings, audit_parameters(context_, *calibration_, out_));
    grant();
    // Numbers are only compared where names, shapes and types agree.
    if (comparable && !evidence_.executions.empty()) check_numbers();
    if (nothing_red()) append(out_.findings, audit_operators(context_));
    if (nothing_red()) append(out_.findings, audit_function(context_));
    std::ranges::move(measure(context_), std::back_inserter(out_.metrics));
    Grounds* predicts = depth_ == Depth::every_node ? &grounds() : nullptr;
    std::ranges::move(measure_headline(context_, predicts), std::back_inserter(out_.metrics));
    if (depth_ != Depth::gate) {
      std::ranges::move(measure_losses(context_, out_.metrics), std::back_inserter(out_.metrics));
    }
    cover_nodes(context_, out_.coverage);
    show_names();  // before anything is put behind a message's first line
    if (depth_ != Depth::gate) add_hints(context_, out_.findings);
    decide(precision.ran_in_float);
    check_trust();
    check_judged();
    summarize();
    show_names();
    return std::move(out_);
  }

  Judgement run_audit() {
    if (auto failed = prepare()) return std::move(*failed);
    if (unreadable_) out_.findings.push_back(std::move(*unreadable_));
    PrecisionFindings precision;
    if (context_.artifact != nullptr) precision = check_precision(context_);
    append(out_.findings, std::move(precision.findings));
    append(out_.findings, audit_parameters(context_, *calibration_, out_));
    append(out_.findings, check_overflow(context_, prepared(), out_));
    show_names();
    decide(precision.ran_in_float);
    return std::move(out_);
  }

 private:
  /// The gate is known, and nobody asks for more.
  [[nodiscard]] bool nothing_red() const { return std::ranges::all_of(out_.findings, &Finding::amber); }
  [[nodiscard]] bool settled() const { return depth_ == Depth::gate && !nothing_red(); }

  void check_numbers() {
    IntegerFindings integers;
    if (!settled()) integers = check_integers(context_, prepared(), evidence_.executions, out_);
    append(out_.findings, std::move(integers.findings));
    if (!settled()) append(out_.findings, check_input_rounding(context_, grounds()));
    if (!settled()) append(out_.findings, check_overflow(context_, prepared(), out_));
    if (context_.explanation != nullptr) context_.explanation->certificates = certify(context_);
    if (!settled()) append(out_.findings, check_bounds(context_, grounds(), prepared(), integers.certain_codes, out_));
    if (!settled()) append(out_.findings, check_moments(context_, grounds().plan(), out_));
    if (!settled()) append(out_.findings, check_prediction(context_, grounds(), out_));
  }

  /// What correct quantization amounts to here.
  [[nodiscard]] Grounds& grounds() {
    if (grounds_ == nullptr) grounds_ = cache_.grounds().get(context_);
    return *grounds_;
  }

  /// The artifact, ready to be walked; null where there is none, or it can't be.
  [[nodiscard]] const PreparedArtifact* prepared() {
    if (context_.artifact == nullptr) return nullptr;
    if (!prepared_) prepared_ = PreparedArtifact::make(*context_.artifact, evidence_);
    return *prepared_ ? &**prepared_ : nullptr;
  }

  /// Runs the reference on everything that was fed, and reads the artifact.
  std::optional<Judgement> prepare() {
    const bool own = evidence_.form != nullptr;
    const std::string key = model_key(*evidence_.model, own ? "" : evidence_.test_case->content_hash);
    static const std::vector<core::TensorMap> kNothing;
    const auto& batches = evidence_.calibration == nullptr ? kNothing : *evidence_.calibration;
    const KeptOfRanges kept{evidence_.options.method == converters::Method::percentile ||
                                evidence_.options.method == converters::Method::mse ||
                                evidence_.options.method == converters::Method::entropy ||
                                evidence_.options.method == converters::Method::given,
                            evidence_.converter.policy.depthwise_channels,
                            evidence_.converter.policy.bias == converters::BiasRounding::mean_corrected,
                            evidence_.options.method == converters::Method::percentile &&
                                    evidence_.converter.policy.averaging == converters::Averaging::batch_quantiles
                                ? evidence_.options.percentile / 100
                                : 0};
    // Before the calibration data, of which some may be the same.
    std::optional<Judgement> failed;
    for (const Execution& execution : evidence_.executions) {
      auto tensors = cache_.run(*evidence_.model, key, execution.inputs);
      if (!tensors) {
        failed = harness_error(
            Stage::float_run,
            fmt::format("the reference can't run data set \"{}\": {}", execution.data_set, tensors.error().message),
            tensors.error());
        break;
      }
      if (context_.reference.empty()) {
        context_.large = is_large(**tensors);
      } else if (context_.large) {
        *tensors = only_outputs(**tensors, evidence_.model->graph);
      }
      context_.reference.push_back(std::move(*tensors));
    }
    read_artifact();
    context_.alignment = align(evidence_, context_.artifact);
    auto calibration = cache_.ranges(*evidence_.model, key, batches, kept);
    if (calibration && view_ && evidence_.converter.policy.calibrates != converters::CalibratedNetwork::float_network) {
      calibration = ranges_on_codes(**calibration, batches, kept);
    }
    if (!calibration) {
      return harness_error(Stage::float_run,
                           fmt::format("the reference can't run the calibration data: {}", calibration.error().message),
                           calibration.error());
    }
    calibration_ = with_searches(with_own_tensors(with_uncertainty(std::move(*calibration)), batches, kept));
    context_.ranges = &calibration_->ranges;
    context_.depth = depth_;
    context_.calibration = calibration_;
    context_.integers = &cache_.integers();
    if (failed) return failed;
    std::tie(context_.audited, context_.open_ranges) = assume_params(context_, *calibration_);
    if (view_ && evidence_.calibration == nullptr) trust_declared();
    return std::nullopt;
  }

  void read_artifact() {
    if (evidence_.artifact == nullptr) return;
    auto view = ArtifactView::build(evidence_.artifact, *evidence_.model);
    if (view) {
      view_ = std::move(*view);
      context_.artifact = &*view_;
      return;
    }
    Finding finding;
    finding.stage = Stage::artifact;
    finding.facet = Facet::scale;
    finding.node = view.error().node;
    finding.op = view.error().op;
    finding.layer = "L0";
    finding.message = fmt::format("node \"{}\" ({}): {}", view.error().node, view.error().op, view.error().message);
    unreadable_ = std::move(finding);
  }

  /// `plain`, the ranges of the original network, with those of the network on the artifact's weights in their place.
  /// Tensors that it doesn't have, such as a folded Conv's own output, keep what they had.
  core::Result<std::shared_ptr<const CalibrationRanges>> ranges_on_codes(const CalibrationRanges& plain,
                                                                         const std::vector<core::TensorMap>& batches,
                                                                         KeptOfRanges kept) {
    const model::Model network = calibrated_network(*context_.alignment, evidence_.converter.policy);
    auto calibration = cache_.ranges(network, model_key(network, ""), batches, kept);
    if (!calibration) return calibration.error().within("on the artifact's weights");
    auto merged = std::make_shared<CalibrationRanges>(plain);
    for (auto& [name, range] : merged->ranges) {
      const auto found = (*calibration)->ranges.find(name);
      if (found == (*calibration)->ranges.end()) continue;
      range = found->second;
      if (kept.values) merged->sorted_values[name] = (*calibration)->sorted_values.at(name);
    }
    return std::shared_ptr<const CalibrationRanges>(std::move(merged));
  }

  /// Factors of layers that were read from quantized values are known that well.
  std::shared_ptr<const CalibrationRanges> with_uncertainty(std::shared_ptr<const CalibrationRanges> ranges) const {
    if (evidence_.form == nullptr || evidence_.form->uncertainty.empty()) return ranges;
    auto widened = std::make_shared<CalibrationRanges>(*ranges);
    for (const auto& [name, error] : evidence_.form->uncertainty) {
      const auto found = widened->ranges.find(name);
      if (found == widened->ranges.end()) continue;
      found->second.slack += error * std::max(-found->second.low, found->second.high);
    }
    return widened;
  }

  /// The ranges of tensors that only the artifact has, from its own operators in float. Where the reference can't run
  /// these they aren't judged.
  std::shared_ptr<const CalibrationRanges> with_own_tensors(std::shared_ptr<const CalibrationRanges> ranges,
                                                            const std::vector<core::TensorMap>& batches,
                                                            KeptOfRanges kept) const {
    if (!view_ || batches.empty()) return ranges;
    const std::vector<std::string> names = own_tensors(*view_, evidence_.model->graph, evidence_.converter.policy);
    if (names.empty()) return ranges;
    const model::Model network = artifact_in_float(*view_);
    const auto measured = cache_.ranges(network, model_key(network, ""), batches, kept);
    if (!measured) return ranges;
    auto all = std::make_shared<CalibrationRanges>(*ranges);
    for (const std::string& name : names) {
      const auto found = (*measured)->ranges.find(name);
      if (found == (*measured)->ranges.end()) continue;
      TensorRange range = found->second;
      range.slack += kOwnRangeError * std::max(-range.low, range.high);
      all->ranges.emplace(name, range);
      if (kept.values) all->sorted_values.emplace(name, (*measured)->sorted_values.at(name));
    }
    return all;
  }

  [[nodiscard]] bool searches_magnitudes() const {
    return evidence_.options.method == converters::Method::entropy &&
           evidence_.converter.policy.histogram == converters::HistogramBins::magnitudes;
  }

  std::shared_ptr<const CalibrationRanges> with_searches(std::shared_ptr<const CalibrationRanges> ranges) const {
    if (!searches_magnitudes()) return ranges;
    auto searched = std::make_shared<CalibrationRanges>(*ranges);
    for (const auto& [name, values] : ranges->sorted_values) {
      const auto range = ranges->ranges.find(name);
      if (range == ranges->ranges.end() || !range->second.finite) continue;
      searched->searched[name] = searched_scales(values, range->second.is_input ? 0 : range->second.slack);
    }
    return searched;
  }

  /// Nobody knows what a ready artifact was calibrated with: its activations' parameters can't be audited, so they
  /// stand as they are, and every other rule holds.
  void trust_declared() {
    for (const Quantizer& quantizer : view_->quantizers()) {
      if (!quantizer.constant && !quantizer.original.empty()) {
        context_.audited[quantizer.original] = quantizer.params;
      }
    }
  }

  /// What another converter's policy allows is a note where nobody knows who made the artifact.
  void grant() {
    for (Finding& finding : out_.findings) {
      const auto granted = std::ranges::find_if(evidence_.granted, [&](const Grant& each) {
        return each.facet == finding.facet && each.tensor == finding.tensor && each.node == finding.node;
      });
      if (granted == evidence_.granted.end() || finding.layer != "L0") continue;
      finding.amber = true;
      finding.message += fmt::format("\n  granted: the policy of {} allows it", granted->by);
    }
  }

  /// In what is said, a name with quotes or line ends in it stays one word.
  void show_names() {
    std::vector<std::string> names;
    const auto note = [&](const std::string& name) {
      if (core::visible_name(name) != name) names.push_back(name);
    };
    const model::Graph& graph = evidence_.model->graph;
    for (const model::ValueInfo& input : graph.inputs) note(input.name);
    for (const auto& [name, tensor] : graph.initializers) note(name);
    for (const model::Node& node : graph.nodes) {
      note(node.name);
      std::ranges::for_each(node.outputs, note);
    }
    if (names.empty()) return;
    // A name may be the end of a longer one.
    std::ranges::sort(names, std::greater<>(), &std::string::size);
    for (const std::string& name : names) {
      // One of few characters is looked for as messages quote it.
      constexpr std::size_t kFew = 3;
      const std::string quotes = name.size() < kFew ? "\"" : "";
      const std::string said = quotes + name + quotes, visible = quotes + core::visible_name(name) + quotes;
      const auto replace = [&](std::string& text) {
        for (std::size_t at = 0; (at = text.find(said, at)) != std::string::npos; at += visible.size()) {
          text.replace(at, said.size(), visible);
        }
      };
      replace(out_.reason);
      for (Finding& finding : out_.findings) replace(finding.message);
    }
  }

  /// The first red facet is the headline; amber ones only colour a pass.
  void decide(bool ran_in_float) {
    // Ranges that other data may explain come after what no data do.
    const std::size_t doubted = doubted_ranges(context_, out_.findings);
    const auto order = [&](const Finding& finding) {
      const bool later = doubted > 0 && is_about_range(context_, finding);
      return std::tuple(finding.amber, later ? Facet::bias : finding.facet, later);
    };
    std::ranges::stable_sort(out_.findings, {}, order);
    if (doubted > 0) {
      out_.metrics.push_back({"", "", "ranges_doubted", static_cast<double>(doubted)});
      Finding& first = *std::ranges::find_if(out_.findings,
                                             [&](const Finding& finding) { return is_about_range(context_, finding); });
      first.message.insert(std::min(first.message.find('\n'), first.message.size()),
                           fmt::format("\n  {} ranges of activations differ, nearly all: are these the data that the "
                                       "model was calibrated on?",
                                       doubted));
    }
    const bool any = !out_.findings.empty();
    const bool red = any && !out_.findings.front().amber;
    if (any) {
      const Finding& headline = out_.findings.front();
      out_.stage = headline.stage;
      out_.facet = headline.facet;
      out_.node = headline.node;
      out_.op = headline.op;
      out_.reason = headline.message;
      const bool in_float = ran_in_float && headline.facet == Facet::precision;
      out_.verdict = in_float ? Verdict::not_quantized : red ? Verdict::fail : Verdict::pass;
      out_.gate = red ? Gate::red : Gate::amber;
      return;
    }
    out_.stage = Stage::judge;
    out_.verdict = Verdict::pass;
    out_.gate = Gate::green;
  }

  /// Where nothing is wrong: do the data discriminate at all?
  void check_trust() {
    if (!out_.findings.empty()) return;
    if (auto reason = distrust(context_)) {
      out_.verdict = Verdict::mistrusted;
      out_.gate = is_imported(*evidence_.test_case) ? Gate::amber : Gate::red;
      out_.reason = std::move(*reason);
    }
  }

  /// Every output begins as one that no limit reaches; one without elements has nothing to judge.
  void open_coverage() {
    out_.coverage.applies = true;
    for (const model::ValueInfo& output : evidence_.model->graph.outputs) {
      double reached = 0;
      for (const auto& reference : context_.reference) {
        const auto expected = reference == nullptr ? core::TensorMap::const_iterator() : reference->find(output.name);
        if (reference != nullptr && expected != reference->end() && expected->second.size() == 0) reached = 1;
      }
      out_.coverage.outputs[output.name] = reached;
    }
  }

  /// A pass says that everything was judged.
  void check_judged() {
    if (out_.verdict != Verdict::pass) return;
    std::string reason = unjudged_reason(context_, out_.coverage);
    if (reason.empty()) return;
    out_.verdict = Verdict::unjudged;
    out_.gate = evidence_.require_judged ? Gate::red : Gate::amber;
    out_.reason = std::move(reason);
  }

  /// The smallest SQNR of an output: over all data sets where they are the user's, else on `typical` data, or on any
  /// where there is none.
  void summarize() {
    std::optional<double> whole, typical, any;
    for (const Metric& metric : out_.metrics) {
      if (metric.name != "sqnr_db" || evidence_.model->graph.find_output(metric.tensor) == nullptr) continue;
      if (metric.data_set.empty()) {
        whole = std::min(whole.value_or(metric.value), metric.value);
        continue;
      }
      any = std::min(any.value_or(metric.value), metric.value);
      if (metric.data_set == "typical") typical = std::min(typical.value_or(metric.value), metric.value);
    }
    out_.sqnr_db = whole && are_alike(evidence_) ? whole : typical ? typical : any;
  }

  Evidence& evidence_;
  ReferenceCache& cache_;
  Depth depth_;
  LayerContext context_;
  std::shared_ptr<const CalibrationRanges> calibration_;
  std::optional<ArtifactView> view_;
  std::optional<Finding> unreadable_;
  std::shared_ptr<Grounds> grounds_;
  std::optional<core::Result<PreparedArtifact>> prepared_;
  Judgement out_;
};

/// While it lives, `evidence` has the original in the form in which the artifact has it.
class InItsForm {
 public:
  explicit InItsForm(Evidence& evidence) : evidence_(evidence), model_(evidence.model), form_(evidence.form) {
    if (auto form = rescaled(evidence)) {
      evidence.form = std::move(form);
      evidence.model = &evidence.form->model;
    }
  }
  InItsForm(const InItsForm&) = delete;
  InItsForm& operator=(const InItsForm&) = delete;
  ~InItsForm() {
    evidence_.model = model_;
    evidence_.form = std::move(form_);
  }

 private:
  Evidence& evidence_;
  const model::Model* model_;
  std::shared_ptr<const OriginalForm> form_;
};

/// A copy has the same values, and a converter that removes the operator knows one name of the two: what it reports of
/// the copy counts for what is copied, where it says nothing of that.
void tell_of_copies(Evidence& evidence) {
  std::vector<converters::TensorScale>& tensors = evidence.conversion.tensors;
  if (tensors.empty() || evidence.model == nullptr) return;
  const auto find = [&](const std::string& name) {
    return std::ranges::find(tensors, name, &converters::TensorScale::name);
  };
  const auto tell = [&](const std::string& from, const std::string& to) {
    const auto told = find(from);
    if (to.empty() || told == tensors.end() || find(to) != tensors.end()) return;
    converters::TensorScale copy = *told;
    copy.name = to;
    tensors.push_back(std::move(copy));
  };
  const std::vector<model::Node>& nodes = evidence.model->graph.nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (traits_of(*node).movement == Movement::copies && !node->outputs.empty() && !node->inputs.empty())
      tell(node->outputs.front(), node->inputs.front());
  }
}

}  // namespace

Judgement judge(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts, Depth depth) {
  tell_of_copies(evidence);
  const InItsForm form(evidence);
  const Indexed indexed(evidence);
  return Judge(evidence, cache, planned_verdicts, depth).run();
}

Explained explain(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts) {
  tell_of_copies(evidence);
  const InItsForm form(evidence);
  const Indexed indexed(evidence);
  Explained out;
  out.judgement = Judge(evidence, cache, planned_verdicts, Depth::full, &out.explanation).run();
  return out;
}

Judgement audit(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts) {
  const InItsForm form(evidence);
  const Indexed indexed(evidence);
  return Judge(evidence, cache, planned_verdicts, Depth::full).run_audit();
}

std::map<std::string, core::QuantParams> audited_input_params(const Evidence& evidence) {
  std::map<std::string, core::QuantParams> params;
  if (evidence.calibration == nullptr || evidence.model == nullptr) return params;
  for (const model::ValueInfo& input : evidence.model->graph.inputs) {
    double low = 0, high = 0;
    bool seen = false, finite = true;
    for (const core::TensorMap& batch : *evidence.calibration) {
      const auto found = batch.find(input.name);
      if (found == batch.end() || !found->second.is_real()) continue;
      seen = true;
      for (const double value : found->second.reals()) {
        finite = finite && std::isfinite(value);
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    if (!seen || !finite) continue;
    // Data sets have steps even where activations have none.
    const core::DType type = evidence.options.weights_only() ? core::DType::int8 : evidence.options.activation;
    params.emplace(input.name, derive_params(low, high, type, evidence.options.symmetric, evidence.converter.policy));
  }
  return params;
}

std::map<std::string, core::QuantParams> artifact_params(const Evidence& evidence) {
  std::map<std::string, core::QuantParams> params;
  if (evidence.artifact == nullptr || evidence.model == nullptr) return params;
  const core::Result<ArtifactView> view = ArtifactView::build(evidence.artifact, *evidence.model);
  if (!view) return params;
  for (const Quantizer& quantizer : view->quantizers()) params.emplace(quantizer.original, quantizer.params);
  for (const ArtifactNode& node : view->nodes()) {
    for (const Operand& operand : node.inputs) {
      if (operand.params) params.emplace(operand.original, *operand.params);
    }
    if (!node.original) continue;
    const std::vector<std::string>& outputs = evidence.model->graph.nodes[*node.original].outputs;
    for (std::size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i) {
      if (node.outputs[i]) params.emplace(outputs[i], *node.outputs[i]);
    }
  }
  params.erase("");
  return params;
}

}  // namespace assay::judge
