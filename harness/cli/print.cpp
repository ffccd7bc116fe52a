#include "harness/cli/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/cli/print_drift.hpp"
#include "harness/core/text.hpp"
#include "harness/run/program_hash.hpp"
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

nlohmann::ordered_json programs_json(const run::RunReport& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const run::RunProgram& program : report.programs) {
    nlohmann::ordered_json json{{"converter", program.name},
                                {"version", program.version},
                                {"hash", program.hash},
                                {"command", program.command}};
    if (program.changed_since) {
      json["changed_since"] = {{"run", program.changed_since->run},
                               {"started_at", program.changed_since->started_at},
                               {"hash", program.changed_since->hash}};
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string report_json(const run::RunReport& report) {
  nlohmann::ordered_json json;
  json["run"] = report.run;
  json["planned"] = report.planned;
  json["converters"] = programs_json(report);
  json["verdicts"] = report.counts();
  json["unsupported"] = unsupported_reasons(report);
  json["results"] = nlohmann::ordered_json::array();
  for (const results::ResultRow& row : report.rows) {
    json["results"].push_back(run::result_json(row));
    json["results"].back()["converter_hash"] = row.key.hash;
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
  if (row.judged_outputs) {
    line += fmt::format("  judged {}/{}", row.judged_nodes(), row.nodes());
  }
  if (row.sqnr_db) {
    line += fmt::format("  {:.1f} dB", *row.sqnr_db);
  }
  if (row.margin) {
    line += fmt::format("  margin {:.3g}", *row.margin);
  }
  if (!row.judged_as.empty()) {
    line += "  " + row.judged_as;
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

std::string headline_text(const results::ResultRow& row) {
  const run::Headline headline = run::headline_of(row);
  if (!headline.worst_db) return "";
  const auto predicted = [](const std::optional<double>& db) {
    return db ? fmt::format(" ({:.1f} dB predicted)", *db) : std::string();
  };
  std::string text = "    ";
  if (headline.whole_db) {
    text += fmt::format("{:.1f} dB over all data sets{}; ", *headline.whole_db, predicted(headline.predicted_whole_db));
  }
  return text + fmt::format("{}{:.1f} dB on \"{}\" at output \"{}\"{}\n", headline.whole_db ? "worst: " : "",
                            *headline.worst_db, headline.worst_data_set, headline.worst_output,
                            predicted(headline.predicted_worst_db));
}

int print_judged_model(const run::RunReport& report, const std::string& repeat) {
  for (const results::ResultRow& row : report.rows) {
    fmt::print("{}\n{}{}", verdict_line(row), headline_text(row), losses_text(row));
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

std::string programs_text(const run::RunReport& report) {
  std::string text;
  for (const run::RunProgram& program : report.programs) {
    const std::string hash = run::short_hash(program.hash);
    if (report.shares_its_name({"", "", program.name, program.version, program.hash})) {
      text += fmt::format("{} {} is several programs here; program {}: {}\n", program.name, program.version, hash,
                          core::join(program.command, " "));
    }
    if (program.changed_since) {
      text +=
          fmt::format("{} {} was another program, or had other arguments, in the run of {}: program {} then, {} now\n",
                      program.name, program.version, program.changed_since->started_at,
                      run::short_hash(program.changed_since->hash), hash);
    }
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
