#include "harness/cli/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/cli/print_drift.hpp"
#include "harness/core/text.hpp"
#include "harness/run/result_json.hpp"

namespace assay::cli {
namespace {

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

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string report_json(const run::RunReport& report) {
  nlohmann::ordered_json json;
  json["run"] = report.run;
  json["planned"] = report.planned;
  json["verdicts"] = report.counts();
  json["unsupported"] = unsupported_reasons(report);
  json["results"] = nlohmann::ordered_json::array();
  for (const results::ResultRow& row : report.rows) {
    json["results"].push_back(run::result_json(row));
  }
  json["unused_expectations"] = report.unused_expectations;
  if (report.drift.compared > 0) {
    json["drift"] = drift_json(report.drift);
  }
  return json_line(json);
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
    line += fmt::format("  margin {:.3g}", *row.margin);
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
  for (const auto& [loss, left] : run::largest_losses(row)) {
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
