#include "harness/report/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/core/counted.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/evidence/verdict_margin.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/verdict.hpp"

namespace assay::report {
namespace {

using judge::Accumulation;
using judge::BoundDerivation;
using judge::Certificate;
using judge::IntegerDerivation;
using judge::ParameterDerivation;
using judge::Tap;
using nlohmann::ordered_json;

/// Statistics that a verdict records beside the elements: which layer's they are, and the limit that gates them.
struct Statistic {
  std::string_view metric, layer, meaning;
  bool largest;                 ///< the largest is the worst, else the smallest
  std::optional<double> limit;  ///< none: recorded only
};
constexpr std::array kStatistics{
    Statistic{"accumulator_worst", "L0", "largest accumulator that any data could give, in units of 2³¹", true, {}},
    Statistic{"range_loss_db", "L0", "what a Concat's narrow range costs, dB", true, {}},
    Statistic{"l1_elements", "L1", "elements compared", true, {}},
    Statistic{"l1_ambiguous", "L1", "of them with more than one admissible code", true, {}},
    Statistic{"l2_vacuous", "L2", "share of outputs whose end-to-end limit proves nothing", true, {}},
    Statistic{"bias_margin", "L2", "|mean error| ÷ limit, worst channel or tensor", true, 1},
    Statistic{"variance_margin", "L2", "mean squared error ÷ limit, worst channel or tensor", true, 1},
    Statistic{"prediction_deviation_db", "L2", "SQNR less the predicted one, dB", false, -judge::kPredictionLossDb},
    Statistic{"channel_deviation_db", "L2", "the same in the worst output channel", false, -judge::kChannelLossDb},
    Statistic{"weight_deviation_db", "L2", "the same of the worst channel of a weight", false, -judge::kWeightLossDb},
    Statistic{"noise_ratio", "L2", "noise ÷ the noise that INT8 must leave (lower limit below 1000 unlike outputs)",
              false, judge::kFloatNoiseRatio},
};

struct Value {
  const Statistic* statistic = nullptr;
  judge::Metric metric;
  bool gates = false;
};

/// The worst value of each statistic that the verdict recorded, and of each metamorphic relation.
std::vector<Value> statistics_of(const judge::Judgement& judgement) {
  std::vector<Value> values;
  const bool predicted =
      std::ranges::find(judgement.metrics, "prediction_gates", &judge::Metric::name) != judgement.metrics.end();
  for (const Statistic& statistic : kStatistics) {
    const judge::Metric* worst = nullptr;
    for (const judge::Metric& metric : judgement.metrics) {
      if (metric.name != statistic.metric) continue;
      const bool worse =
          worst == nullptr || (statistic.largest ? metric.value > worst->value : metric.value < worst->value);
      if (worse) worst = &metric;
    }
    const bool of_prediction = statistic.metric.ends_with("_deviation_db");
    if (worst != nullptr) values.push_back({&statistic, *worst, statistic.limit && (predicted || !of_prediction)});
  }
  return values;
}

std::vector<const judge::Metric*> relations_of(const judge::Judgement& judgement) {
  std::vector<const judge::Metric*> relations;
  for (const judge::Metric& metric : judgement.metrics) {
    if (metric.name.starts_with("l3_")) relations.push_back(&metric);
  }
  return relations;
}

std::string real(double value) { return core::exact_text(static_cast<float>(value)); }
std::string brief(double value) { return fmt::format("{:.6g}", value); }
bool applied(const judge::Judgement& judgement, std::string_view layer) {
  return std::ranges::find(judgement.layers, layer) != judgement.layers.end();
}

std::string place(const std::string& node, const std::string& op, const std::string& tensor, const std::string& index,
                  const std::string& data_set) {
  return fmt::format("{}, {}{}, data set \"{}\"",
                     node.empty() ? "graph input" : fmt::format("node \"{}\" ({})", node, op), tensor, index, data_set);
}

std::string accumulation_text(const Accumulation& sum) {
  const auto factor = [](std::string_view code, std::int64_t zero_point) {
    return zero_point == 0 ? std::string(code) : fmt::format("({} {:+})", code, -zero_point);
  };
  std::string text = fmt::format("    accumulator {} = Σ {}·{}", sum.accumulator, factor("q_x", sum.x_zero_point),
                                 factor("q_w", sum.w_zero_point));
  if (sum.bias_code) text += fmt::format(" {:+}", *sum.bias_code);
  text += fmt::format(", s_x {}, s_w {}", real(sum.x_scale), real(sum.w_scale));
  if (sum.output && !sum.output->scale.empty()) {
    text += fmt::format(", s_y {}, z_y {}; multiplier s_x·s_w ÷ s_y = {}", real(sum.output->scale.front()),
                        sum.output->zero_point.front(), brief(sum.multiplier()));
  }
  return text + fmt::format("; accumulator × multiplier = {}\n",
                            core::exact_text64(static_cast<double>(sum.accumulator) * sum.multiplier()));
}

/// The products that weigh most.
std::string taps_text(const std::vector<Tap>& taps) {
  constexpr std::size_t kShown = 8;
  std::vector<Tap> sorted = taps;
  std::ranges::stable_sort(sorted, std::greater{}, [](const Tap& tap) { return std::fabs(tap.x * tap.w); });
  std::string text;
  const auto code = [](const std::optional<std::int64_t>& value) {
    return value ? fmt::format(" (code {})", *value) : "";
  };
  for (const Tap& tap : std::span(sorted).first(std::min(kShown, sorted.size()))) {
    text += fmt::format("      x{} {}{} · w{} {}{} = {}\n", tap.x_index, real(tap.x), code(tap.x_code), tap.w_index,
                        real(tap.w), code(tap.w_code), brief(tap.x * tap.w));
  }
  if (sorted.size() > kShown)
    text += fmt::format("      … and {} (all with --json)\n", core::counted(sorted.size() - kShown, "smaller product"));
  return text.empty() ? text : fmt::format("    {}, the largest:\n", core::counted(taps.size(), "product")) + text;
}

std::string certificate_text(const Certificate& c) {
  std::string text =
      fmt::format("  for every input within its codes' range, node \"{}\" ({}): |quantized − float| ≤ {}", c.node, c.op,
                  brief(c.error));
  if (c.step > 0) text += fmt::format(" ({} steps)", brief(c.error / c.step));
  if (c.clipped > 0) text += fmt::format(", where the output isn't clipped, by {} at most", brief(c.clipped));
  return text + fmt::format("; sums stay within {} of 2³¹\n", brief(c.accumulator));
}

std::string parameter_text(const ParameterDerivation& p) {
  return fmt::format("  {} of \"{}\": expected {}, actual {}; off by {}, allowed {} (margin {:.3g})\n    from {}: {}\n",
                     p.what, p.tensor, p.expected, p.actual, brief(p.distance), brief(p.limit), p.margin(), p.range,
                     p.formula);
}

std::string integers_text(const IntegerDerivation& d) {
  std::string text = fmt::format("  {}: {}\n", d.wrong ? "furthest off" : "nearest to a tie",
                                 place(d.node, d.op, d.tensor, d.index, d.data_set));
  if (d.quotient)
    text += fmt::format("    to be rounded: {} steps, before zero_point\n", core::exact_text64(*d.quotient));
  text += fmt::format("    expected {}{}, actual {} (style {})\n", real(d.low),
                      d.low == d.high ? "" : " to " + real(d.high), real(d.actual), core::word_of(d.style));
  if (d.accumulation) text += accumulation_text(*d.accumulation);
  return text + taps_text(d.taps);
}

std::string bound_text(const BoundDerivation& d) {
  std::string text =
      fmt::format("  {}: {}\n    exact {}, actual {}, error {}, limit {} (margin {}{})\n",
                  d.end_to_end ? "end to end" : "locally, on the values that the artifact's tensors hold",
                  place(d.node, d.op, d.tensor, d.index, d.data_set), real(d.expected), real(d.actual),
                  brief(std::fabs(d.actual - d.expected)), brief(d.limit), figure(d.margin),
                  d.vacuous ? "; vacuous: no less than the tensor's own extent" : "");
  double sum = 0;
  for (const judge::BoundTerm& term : d.terms) {
    text += fmt::format("    {:>14} {}\n", fmt::format("{:+.6g}", term.value), term.source);
    sum += term.value;
  }
  text += fmt::format("    {:>14} sum\n", brief(sum));
  if (d.step > 0) {
    text += fmt::format("    its own codes: step {}, from {} to {}\n", real(d.step), real(d.bottom), real(d.top));
  }
  if (d.bias) text += fmt::format("    bias {}\n", real(*d.bias));
  if (d.accumulation) text += accumulation_text(*d.accumulation);
  return text + taps_text(d.taps);
}

/// "L1, the artifact's own graph in exact arithmetic: applied": the head of a layer's part.
std::string layer_head(const judge::Judgement& judgement, std::string_view layer, std::string_view title) {
  std::size_t findings = 0;
  for (const judge::Finding& finding : judgement.findings) findings += finding.layer == layer ? 1U : 0U;
  return fmt::format("\n{} {}: {}\n", layer, title,
                     findings > 0                ? core::counted(findings, "finding")
                     : applied(judgement, layer) ? "nothing outside its limits"
                                                 : "not applied");
}

std::string statistics_text(const std::vector<Value>& values, std::string_view layer) {
  std::string text;
  for (const Value& value : values) {
    if (value.statistic->layer != layer) continue;
    text += fmt::format("  {} = {} ({}{}{})\n", value.metric.name, brief(value.metric.value), value.statistic->meaning,
                        value.metric.tensor.empty() ? "" : ", \"" + value.metric.tensor + "\"",
                        value.gates ? fmt::format("; limit {}", brief(*value.statistic->limit)) : "");
  }
  return text;
}

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(core::exact_text64(value));
}
template <typename T>
ordered_json optional_json(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json taps_json(const std::vector<Tap>& taps) {
  ordered_json json = ordered_json::array();
  for (const Tap& tap : taps) {
    json.push_back({{"x_index", tap.x_index},
                    {"x", number(tap.x)},
                    {"x_code", optional_json(tap.x_code)},
                    {"w_index", tap.w_index},
                    {"w", number(tap.w)},
                    {"w_code", optional_json(tap.w_code)}});
  }
  return json;
}

ordered_json accumulation_json(const std::optional<Accumulation>& sum) {
  if (!sum) return nullptr;
  ordered_json json{{"x_scale", sum->x_scale},
                    {"x_zero_point", sum->x_zero_point},
                    {"w_scale", sum->w_scale},
                    {"w_zero_point", sum->w_zero_point},
                    {"bias_code", optional_json(sum->bias_code)},
                    {"accumulator", sum->accumulator},
                    {"multiplier", sum->multiplier()}};
  if (sum->output && !sum->output->scale.empty()) {
    json["y_scale"] = sum->output->scale.front();
    json["y_zero_point"] = sum->output->zero_point.front();
  }
  return json;
}

ordered_json integers_json(const std::optional<IntegerDerivation>& d) {
  if (!d) return nullptr;
  return {{"style", core::word_of(d->style)},
          {"wrong", d->wrong},
          {"node", d->node},
          {"op", d->op},
          {"tensor", d->tensor},
          {"index", d->index},
          {"data_set", d->data_set},
          {"quotient", optional_json(d->quotient)},
          {"expected_low", number(d->low)},
          {"expected_high", number(d->high)},
          {"actual", number(d->actual)},
          {"accumulation", accumulation_json(d->accumulation)},
          {"taps", taps_json(d->taps)}};
}

ordered_json bound_json(const std::optional<BoundDerivation>& d) {
  if (!d) return nullptr;
  ordered_json terms = ordered_json::array();
  for (const judge::BoundTerm& term : d->terms)
    terms.push_back({{"source", term.source}, {"value", number(term.value)}});
  return {{"node", d->node},
          {"op", d->op},
          {"tensor", d->tensor},
          {"index", d->index},
          {"data_set", d->data_set},
          {"expected", number(d->expected)},
          {"actual", number(d->actual)},
          {"limit", number(d->limit)},
          {"margin", number(d->margin)},
          {"vacuous", d->vacuous},
          {"terms", std::move(terms)},
          {"step", d->step},
          {"bottom", d->bottom},
          {"top", d->top},
          {"bias", optional_json(d->bias)},
          {"accumulation", accumulation_json(d->accumulation)},
          {"taps", taps_json(d->taps)}};
}

std::string facet_of(const judge::Judgement& judgement) {
  return judgement.facet ? std::string(judge::facet_name(*judgement.facet)) : "";
}

}  // namespace

std::string explanation_text(const run::ExplainedVerdict& verdict) {
  const judge::Judgement& j = verdict.judgement;
  std::string text =
      fmt::format("{} ({}): {}, options {}, {}@{}{}{}\n", judge::verdict_name(j.verdict), judge::gate_name(j.gate),
                  verdict.case_name, verdict.options, verdict.converter, verdict.version,
                  verdict.artifact_kind ? fmt::format(", artifact {}", core::word_of(*verdict.artifact_kind)) : "",
                  verdict.judged_as.empty() ? "" : "; " + verdict.judged_as);
  if (j.facet) text += fmt::format("headline: stage {}, facet {}\n", judge::stage_name(j.stage), facet_of(j));
  if (j.findings.empty() && !j.reason.empty()) text += core::one_entry(j.reason) + "\n";
  for (const judge::Finding& finding : j.findings) {
    text += fmt::format("{}{}{}: {}\n", judge::facet_name(finding.facet),
                        finding.layer.empty() ? "" : " (" + finding.layer + ")", finding.amber ? ", only a note" : "",
                        core::one_entry(finding.message));
  }
  if (j.findings.empty() && j.facet == std::nullopt && j.reason.empty()) text += "every facet within its limit\n";
  const judge::Explanation& e = verdict.explanation;
  if (verdict.converter == corpus::kReference) {
    if (e.end_to_end)
      text += "the stored value that comes nearest to its limit, against float64\n" + bound_text(*e.end_to_end);
    text.pop_back();
    return text;
  }
  const std::vector<Value> values = statistics_of(j);
  text += layer_head(j, "L0", "declared parameters against those that the data and the policy give");
  for (const ParameterDerivation& parameter : e.parameters) text += parameter_text(parameter);
  constexpr std::size_t kCertificatesShown = 5;
  for (const Certificate& each : std::span(e.certificates).first(std::min(kCertificatesShown, e.certificates.size()))) {
    text += certificate_text(each);
  }
  if (e.certificates.size() > kCertificatesShown) {
    text += fmt::format("  … and of {} (all with --json)\n",
                        core::counted(e.certificates.size() - kCertificatesShown, "node"));
  }
  text += statistics_text(values, "L0");
  text += layer_head(j, "L1", "the artifact's own graph in exact integers");
  if (j.style) text += fmt::format("  style {} explains every element\n", core::word_of(*j.style));
  text += statistics_text(values, "L1");
  if (e.integers) text += integers_text(*e.integers);
  text += layer_head(j, "L2", "the error against float64");
  for (const auto* derivation : {&e.local, &e.end_to_end}) {
    if (*derivation) text += bound_text(**derivation);
  }
  text += statistics_text(values, "L2");
  if (const auto relations = relations_of(j); !relations.empty()) {
    text += layer_head(j, "L3", "metamorphic relations");
    for (const judge::Metric* relation : relations) {
      text += fmt::format("  {}: {}\n", relation->name.substr(3), relation->value == 1 ? "holds" : "broken");
    }
  }
  text.pop_back();
  return text;
}

std::string explanation_json(const run::ExplainedVerdict& verdict) {
  const judge::Judgement& j = verdict.judgement;
  const std::optional<double> margin = judge::verdict_margin(j);
  ordered_json json{{"case", verdict.case_name},
                    {"options", verdict.options},
                    {"converter", verdict.converter},
                    {"version", verdict.version},
                    {"artifact", core::word_of(verdict.artifact_kind)},
                    {"verdict", judge::verdict_name(j.verdict)},
                    {"gate", judge::gate_name(j.gate)},
                    {"stage", judge::stage_name(j.stage)},
                    {"facet", j.facet ? ordered_json(facet_of(j)) : ordered_json(nullptr)},
                    {"reason", j.reason},
                    {"layers", j.layers},
                    {"style", core::word_of(j.style)},
                    {"margin", margin ? number(*margin) : ordered_json(nullptr)}};
  put_judged_as(json, verdict.judged_as);
  json["findings"] = ordered_json::array();
  for (const judge::Finding& finding : j.findings) {
    json["findings"].push_back({{"facet", judge::facet_name(finding.facet)},
                                {"layer", finding.layer},
                                {"node", finding.node},
                                {"tensor", finding.tensor},
                                {"amber", finding.amber},
                                {"margin", number(finding.margin)},
                                {"message", finding.message}});
  }
  json["L0"] = ordered_json::array();
  for (const ParameterDerivation& p : verdict.explanation.parameters) {
    json["L0"].push_back({{"what", p.what},
                          {"tensor", p.tensor},
                          {"range", p.range},
                          {"formula", p.formula},
                          {"expected", p.expected},
                          {"actual", p.actual},
                          {"distance", number(p.distance)},
                          {"limit", number(p.limit)},
                          {"margin", number(p.margin())}});
  }
  json["certificates"] = ordered_json::array();
  for (const Certificate& c : verdict.explanation.certificates) {
    json["certificates"].push_back({{"node", c.node},
                                    {"op", c.op},
                                    {"tensor", c.tensor},
                                    {"error", number(c.error)},
                                    {"step", number(c.step)},
                                    {"clipped", number(c.clipped)},
                                    {"accumulator", number(c.accumulator)}});
  }
  json["L1"] = integers_json(verdict.explanation.integers);
  json["L2"] = {{"local", bound_json(verdict.explanation.local)},
                {"end_to_end", bound_json(verdict.explanation.end_to_end)}};
  json["L3"] = ordered_json::object();
  for (const judge::Metric* relation : relations_of(j)) json["L3"][relation->name.substr(3)] = relation->value == 1;
  json["statistics"] = ordered_json::array();
  for (const Value& value : statistics_of(j)) {
    json["statistics"].push_back(
        {{"name", value.metric.name},
         {"layer", value.statistic->layer},
         {"tensor", value.metric.tensor},
         {"value", number(value.metric.value)},
         {"limit", value.gates ? ordered_json(*value.statistic->limit) : ordered_json(nullptr)}});
  }
  // Messages may quote a converter's bytes, which need not be UTF-8.
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace assay::report
