#include "harness/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/core/counted.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/follows.hpp"

namespace assay::report {
namespace {

nlohmann::ordered_json number_or_word(const std::optional<double>& value) {
  if (!value) {
    return nullptr;
  }
  if (!std::isfinite(*value)) {
    return core::exact_text64(*value);  // JSON has no infinities; protocol 1 writes them as words too
  }
  return *value;
}

std::vector<std::string> layer_list(const std::string& layers) {
  std::vector<std::string> list;
  std::istringstream stream(layers);
  for (std::string layer; std::getline(stream, layer, ',');) {
    list.push_back(layer);
  }
  return list;
}

std::string indented(const std::string& text) {
  std::string result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    result += "    " + line + "\n";
  }
  return result;
}

/// How many times the expected scale the actual one is, where a line ends with "expected [scale ]A, actual B".
std::optional<double> stated_ratio(std::string_view line) {
  constexpr std::string_view kActual = ", actual ", kExpected = "expected ", kScale = "scale ";
  const std::size_t middle = line.rfind(kActual);
  if (middle == std::string_view::npos) return std::nullopt;
  const std::size_t begin = line.substr(0, middle).rfind(kExpected);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view first = line.substr(begin + kExpected.size(), middle - begin - kExpected.size());
  if (first.starts_with(kScale)) first.remove_prefix(kScale.size());
  const std::optional<double> expected = core::parse_number(first),
                              actual = core::parse_number(line.substr(middle + kActual.size()));
  if (!expected || !actual || !std::isfinite(*actual / *expected) || *actual / *expected <= 0) return std::nullopt;
  return *actual / *expected;
}

/// A message of `facet` for people. Of a scale that is wrong it says how many times the expected one it is.
std::string message_text(const std::string& facet, const std::string& message) {
  if (facet != "scale") return with_short_figures(message);
  std::string text;
  std::istringstream stream(message);
  for (std::string line; std::getline(stream, line);) {
    const std::optional<double> ratio = stated_ratio(line);
    line = with_short_figures(line);
    if (ratio) line += fmt::format(" ({} times)", figure(*ratio));
    text += line + "\n";
  }
  return text;
}

std::string title_line(const results::ResultRow& row) {
  return fmt::format("{}: {} ({})\n", row.key.case_name, row.verdict, place_of(row));
}

/// Findings of one check beyond the ten that it keeps.
std::size_t left_out(const results::ResultRow& row) {
  std::size_t count = 0;
  for (const results::MetricRow& metric : row.metrics) {
    if (metric.name == "findings_left_out") count += static_cast<std::size_t>(metric.value);
  }
  return count;
}

}  // namespace

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Headline headline_of(const results::ResultRow& row) {
  Headline headline;
  const auto predicted = [&](const std::string& output, const std::string& data_set) -> std::optional<double> {
    for (const results::MetricRow& metric : row.metrics) {
      if (metric.name == "predicted_sqnr_db" && metric.tensor == output && metric.data_set == data_set) {
        return metric.value;
      }
    }
    return std::nullopt;
  };
  for (const results::MetricRow& metric : row.metrics) {
    if (metric.name == "worst_sqnr_db") {
      headline.worst_db = metric.value;
      headline.worst_data_set = metric.data_set;
      headline.worst_output = metric.tensor;
      headline.predicted_worst_db = predicted(metric.tensor, metric.data_set);
    }
    if (metric.name == "whole_sqnr_db") {
      headline.whole_db = metric.value;
      headline.predicted_whole_db = predicted(metric.tensor, "");
    }
  }
  return headline;
}

std::vector<std::pair<results::MetricRow, double>> largest_losses(const results::ResultRow& row) {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<results::MetricRow, double>> losses;
  for (const results::MetricRow& metric : row.metrics) {
    if ((metric.name == "sqnr_loss_db" || metric.name == "range_loss_db") && metric.value > 0) {
      const auto left = std::find_if(row.metrics.begin(), row.metrics.end(), [&](const results::MetricRow& other) {
        return other.name == "sqnr_db" && other.tensor == metric.tensor && other.data_set == metric.data_set;
      });
      losses.emplace_back(metric, left == row.metrics.end() ? std::nan("") : left->value);
    }
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const auto& a, const auto& b) { return a.first.value > b.first.value; });
  losses.resize(std::min(losses.size(), kShown));
  return losses;
}

void put_judged_as(nlohmann::ordered_json& verdict, const std::string& judged_as) {
  if (judged_as.empty()) return;
  const bool changed = judged_as.starts_with(results::kChangedBefore);
  verdict[changed ? "changed" : "made_by"] = changed ? judged_as.substr(results::kChangedBefore.size()) : judged_as;
}

nlohmann::ordered_json result_json(const results::ResultRow& row) {
  nlohmann::ordered_json result;
  result["case"] = row.key.case_name;
  result["options"] = row.key.options;
  result["converter"] = row.key.converter;
  result["version"] = row.key.version;
  result["verdict"] = row.verdict;
  result["gate"] = row.gate;
  result["stage"] = row.stage;
  result["facet"] = row.facet.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.facet);
  result["node"] = row.node.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.node);
  result["reason"] = row.reason;
  result["margin"] = number_or_word(row.margin);
  result["sqnr_db"] = number_or_word(row.sqnr_db);
  const Headline headline = headline_of(row);
  result["whole_sqnr_db"] = number_or_word(headline.whole_db);
  result["predicted_whole_sqnr_db"] = number_or_word(headline.predicted_whole_db);
  result["worst_sqnr_db"] = number_or_word(headline.worst_db);
  result["predicted_worst_sqnr_db"] = number_or_word(headline.predicted_worst_db);
  result["worst_data_set"] = headline.worst_data_set.empty() ? nlohmann::ordered_json(nullptr)
                                                             : nlohmann::ordered_json(headline.worst_data_set);
  result["layers"] = layer_list(row.layers);
  result["judged"] = nullptr;
  if (row.judged_outputs) {
    nlohmann::ordered_json unjudged = nlohmann::ordered_json::array();
    for (const results::UnjudgedRow& node : row.unjudged) {
      unjudged.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
    }
    result["judged"] = {{"nodes", row.judged_nodes()},
                        {"of", row.nodes()},
                        {"outputs", *row.judged_outputs},
                        {"unjudged", std::move(unjudged)}};
  }
  result["style"] = row.style;
  put_judged_as(result, row.judged_as);
  result["seconds"] = row.seconds;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const results::FindingRow& finding : row.findings) {
    findings.push_back({{"stage", finding.stage},
                        {"facet", finding.facet},
                        {"layer", finding.layer},
                        {"node", finding.node},
                        {"op", finding.op},
                        {"tensor", finding.tensor},
                        {"data_set", finding.data_set},
                        {"message", finding.message},
                        {"margin", number_or_word(finding.margin)},
                        {"amber", finding.amber}});
  }
  result["findings"] = std::move(findings);
  result["lost_at"] = nlohmann::ordered_json::array();
  for (const auto& [loss, left] : largest_losses(row)) {
    result["lost_at"].push_back({{"tensor", loss.tensor}, {"loss_db", loss.value}, {"sqnr_db", number_or_word(left)}});
  }
  return result;
}

std::string place_of(const results::ResultRow& row) {
  return row.facet.empty() ? row.stage : row.stage + "/" + row.facet;
}

std::string margin_of_text(const results::ResultRow& row) {
  const auto red = [&](const results::FindingRow& finding) { return !finding.amber && finding.margin == row.margin; };
  if (!row.margin || !(*row.margin > 1)) return "";
  const auto of_outputs = std::ranges::find(row.metrics, "output_margin", &results::MetricRow::name);
  if (of_outputs != row.metrics.end() && of_outputs->value == *row.margin) {
    const bool named = std::ranges::any_of(row.findings, [&](const results::FindingRow& finding) {
      return red(finding) && finding.data_set == of_outputs->data_set;
    });
    return named || of_outputs->data_set.empty() ? "" : fmt::format(" on \"{}\"", of_outputs->data_set);
  }
  const auto own = std::ranges::find_if(row.findings, red);
  const bool of_values = own == row.findings.end() || own->facet == judge::facet_name(judge::Facet::numerics);
  return of_values ? "" : " of the " + own->facet;
}

std::string node_margin_text(const results::ResultRow& row) {
  if (!row.margin) return "";
  const results::MetricRow* worst = nullptr;
  for (const results::MetricRow& metric : row.metrics) {
    if (metric.name == "local_margin" && (worst == nullptr || metric.value > worst->value)) worst = &metric;
  }
  const bool beyond = worst != nullptr && worst->value > std::max(*row.margin, 1.0);
  if (!beyond || figure(worst->value) == figure(*row.margin)) return "";
  return fmt::format(", {} at \"{}\"", figure(worst->value), core::visible_name(worst->tensor));
}

std::string verdict_line(const results::ResultRow& row, const std::string& set_by_case) {
  std::string line = fmt::format("{:<13} {}  {}", row.verdict, row.key.case_name, row.key.options);
  if (!set_by_case.empty()) {
    line += " (" + set_by_case + ")";
  }
  if (row.key.converter != "embedded") {
    line += fmt::format("  {}@{}", row.key.converter, row.key.version);
  }
  if (!row.facet.empty() && row.verdict != judge::verdict_name(judge::Verdict::pass)) {
    line += "  " + place_of(row);
  }
  if (!row.layers.empty()) {
    line += "  " + row.layers;
  }
  if (row.judged_outputs) {
    line += fmt::format("  nodes judged {}/{}", row.judged_nodes(), row.nodes());
  }
  if (!row.precision.empty()) {
    const auto integer = std::ranges::count(row.precision, "int8", &results::PrecisionRow::got);
    line += fmt::format("  int8 {}/{}", integer, row.precision.size());
  }
  if (row.sqnr_db) {
    line += "  " + decibels(*row.sqnr_db);
  }
  if (row.margin) {
    line += "  margin " + figure(*row.margin) + margin_of_text(row) + node_margin_text(row);
  }
  if (!row.judged_as.empty()) {
    line += "  " + row.judged_as;
  }
  return line;
}

std::string failure_text(const results::ResultRow& row, const std::string& repeat_command, const model::Graph* graph,
                         const std::string& further) {
  std::string text = title_line(row) + indented(message_text(row.facet, row.reason));
  const auto first = std::ranges::find(row.findings, row.reason, &results::FindingRow::message);
  const auto follows = [&](const results::FindingRow& finding) {
    return graph != nullptr && first != row.findings.end() && !finding.amber && may_follow(*graph, *first, finding);
  };
  constexpr std::size_t kShown = 10;
  std::size_t others = 0;
  std::string following;
  for (const results::FindingRow& finding : row.findings) {
    if (finding.message == row.reason || ++others > kShown) continue;
    const bool after = follows(finding);
    (after ? following : text) +=
        fmt::format("  also {}{}{}:\n{}", finding.facet, finding.layer.empty() ? "" : " (" + finding.layer + ")",
                    finding.amber ? ", only a note"
                    : after       ? ", which may follow from it"
                                  : "",
                    indented(message_text(finding.facet, finding.message)));
  }
  text += further + following;
  if (const std::size_t more = left_out(row) + (others > kShown ? others - kShown : 0); more > 0) {
    text += "  … and " + core::counted(more, "more finding") + "\n";
  }
  return text + "  reproduce: " + repeat_command + "\n";
}

std::string brief_failure_text(const results::ResultRow& row, const std::string& repeat_command) {
  constexpr std::size_t kLines = 3;
  std::istringstream message(message_text(row.facet, row.reason));
  std::string begins, line;
  std::size_t lines = 0;
  while (std::getline(message, line)) {
    if (++lines <= kLines) begins += line + "\n";
  }
  std::string text = title_line(row) + indented(begins);
  if (lines > kLines) text += fmt::format("      … and {}\n", core::counted(lines - kLines, "more line"));
  const auto others = std::ranges::count_if(
      row.findings, [&](const results::FindingRow& finding) { return finding.message != row.reason; });
  if (const std::size_t more = left_out(row) + static_cast<std::size_t>(others); more > 0) {
    text += "  … and " + core::counted(more, "more finding") + "\n";
  }
  return text + "  reproduce: " + repeat_command + "\n";
}

std::string losses_text(const results::ResultRow& row) {
  constexpr double kShownAsZero = 0.05;
  std::string text;
  std::optional<double> least;
  for (const auto& [loss, left] : largest_losses(row)) {
    if (loss.value < kShownAsZero) continue;
    text += fmt::format("  {:>10} lost at \"{}\"{}\n", decibels(loss.value), core::visible_name(loss.tensor),
                        std::isnan(left) ? loss.name == "range_loss_db" ? " by its own range" : ""
                                         : fmt::format(", {} left", decibels(left)));
    if (!std::isnan(left)) least = std::min(least.value_or(left), left);
  }
  constexpr double kAudible = 3;
  if (least && row.sqnr_db && *row.sqnr_db > *least + kAudible) {
    text += fmt::format("  {:>10} at the output: where a node joins a branch with less error, the SQNR rises again\n",
                        decibels(*row.sqnr_db));
  }
  return text;
}

std::string headline_text(const results::ResultRow& row) {
  const Headline headline = headline_of(row);
  if (!headline.worst_db) return "";
  const auto predicted = [](const std::optional<double>& db) {
    return db ? fmt::format(" ({} predicted)", decibels(*db)) : std::string();
  };
  std::string text = "    ";
  // Of generated data the verdict's line has the usual ones alone; the others are drawn to be extreme.
  const auto usual = std::ranges::find_if(row.metrics, [&](const results::MetricRow& metric) {
    return metric.name == "sqnr_db" && !metric.data_set.empty() && metric.value == row.sqnr_db;
  });
  if (headline.whole_db && usual != row.metrics.end() && *headline.whole_db != *row.sqnr_db) {
    text += fmt::format("{} is on \"{}\"; ", decibels(*row.sqnr_db), usual->data_set);
  }
  if (headline.whole_db) {
    text +=
        fmt::format("{} over all data sets{}; ", decibels(*headline.whole_db), predicted(headline.predicted_whole_db));
  }
  return text + fmt::format("{}{} on \"{}\" at output \"{}\"{}\n", headline.whole_db ? "worst: " : "",
                            decibels(*headline.worst_db), headline.worst_data_set, headline.worst_output,
                            predicted(headline.predicted_worst_db));
}

}  // namespace assay::report
