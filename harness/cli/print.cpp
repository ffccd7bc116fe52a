#include "harness/cli/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/cli/print_drift.hpp"
#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

nlohmann::ordered_json number(const std::optional<double>& value) {
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

/// The largest losses, worst first, with the SQNR that is left behind each.
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

std::string indented(const std::string& text) {
  std::string result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    result += "    " + line + "\n";
  }
  return result;
}

std::map<std::string, std::size_t> unsupported_reasons(const run::RunReport& report) {
  std::map<std::string, std::size_t> reasons;
  for (const results::ResultRow& row : report.rows) {
    if (row.verdict == judge::verdict_name(judge::Verdict::unsupported)) {
      ++reasons[row.reason.substr(0, row.reason.find(": "))];
    }
  }
  return reasons;
}

}  // namespace

std::string report_json(const run::RunReport& report) {
  nlohmann::ordered_json json;
  json["run"] = report.run;
  json["planned"] = report.planned;
  json["verdicts"] = report.counts();
  json["unsupported"] = unsupported_reasons(report);
  json["results"] = nlohmann::ordered_json::array();
  for (const results::ResultRow& row : report.rows) {
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
    result["margin"] = number(row.margin);
    result["sqnr_db"] = number(row.sqnr_db);
    result["layers"] = layer_list(row.layers);
    result["style"] = row.style;
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
                          {"margin", number(finding.margin)}});
    }
    result["findings"] = std::move(findings);
    result["lost_at"] = nlohmann::ordered_json::array();
    for (const auto& [loss, left] : largest_losses(row)) {
      result["lost_at"].push_back({{"tensor", loss.tensor}, {"loss_db", loss.value}, {"sqnr_db", number(left)}});
    }
    json["results"].push_back(std::move(result));
  }
  json["unused_expectations"] = report.unused_expectations;
  if (report.drift.compared > 0) {
    json["drift"] = drift_json(report.drift);
  }
  // Messages may quote a converter's bytes, which need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string verdict_line(const results::ResultRow& row) {
  std::string line = fmt::format("{:<13} {}  {}", row.verdict, row.key.case_name, row.key.options);
  if (row.key.converter != "embedded") {
    line += fmt::format("  {}@{}", row.key.converter, row.key.version);
  }
  if (!row.layers.empty()) {
    line += "  " + row.layers;
  }
  if (row.sqnr_db) {
    line += fmt::format("  {:.1f} dB", *row.sqnr_db);
  }
  if (row.margin) {
    line += fmt::format("  margin {:.2f}", *row.margin);
  }
  return line;
}

std::string failure_text(const results::ResultRow& row, const std::string& repeat_command) {
  const std::string where = row.facet.empty() ? row.stage : row.stage + "/" + row.facet;
  std::string text = fmt::format("{}: {} ({})\n", row.key.case_name, row.verdict, where);
  text += indented(row.reason);
  constexpr std::size_t kShown = 10;
  std::size_t shown = 0;
  for (const results::FindingRow& finding : row.findings) {
    if (finding.message == row.reason) {
      continue;
    }
    if (++shown > kShown) {
      text += fmt::format("    … and {} more findings\n", row.findings.size() - kShown);
      break;
    }
    text += fmt::format("  also {}{}:\n{}", finding.facet, finding.layer.empty() ? "" : " (" + finding.layer + ")",
                        indented(finding.message));
  }
  text += "  reproduce: " + repeat_command + "\n";
  return text;
}

std::string losses_text(const results::ResultRow& row) {
  std::string text;
  for (const auto& [loss, left] : largest_losses(row)) {
    text += fmt::format("    {:5.1f} dB lost at \"{}\"{}\n", loss.value, loss.tensor,
                        std::isnan(left) ? loss.name == "range_loss_db" ? " by its own range" : ""
                                         : fmt::format(", {:.1f} dB left", left));
  }
  return text;
}

int print_judged_model(const run::RunReport& report, bool json, const std::string& repeat) {
  if (json) {
    fmt::print("{}\n", report_json(report));
    return run::exit_code(report);
  }
  for (const results::ResultRow& row : report.rows) {
    fmt::print("{}\n{}", verdict_line(row), losses_text(row));
    if (row.gate != "green") {
      fmt::print("\n{}", failure_text(row, repeat));
    }
  }
  return run::exit_code(report);
}

std::string unsupported_text(const run::RunReport& report) {
  std::string text;
  for (const auto& [reason, count] : unsupported_reasons(report)) {
    text += fmt::format("unsupported, {}: {}\n", reason, count);
  }
  return text;
}

std::string counts_line(const run::RunReport& report) {
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : report.counts()) {
    parts.push_back(fmt::format("{} {}", count, verdict));
  }
  return fmt::format("{} planned: {}", report.planned, core::join(parts, ", "));
}

}  // namespace assay::cli
