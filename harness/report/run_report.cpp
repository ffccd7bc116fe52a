#include "harness/report/run_report.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/report/causes.hpp"
#include "harness/report/drift.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"
#include "results/cause.hpp"

namespace assay::report {
namespace {

/// How many verdicts are unsupported for each reason. Reasons that differ in names are one, whose names are left open.
/// How many verdicts have each of these texts, one of each verdict or "" where it has none; those that are alike but
/// for names count together, without the names.
template <typename TextOf>
std::map<std::string, std::size_t> counted_texts(const run::RunReport& report, TextOf text_of) {
  std::map<std::string, std::map<std::string, std::size_t>> alike;
  for (const results::ResultRow& row : report.rows) {
    const std::string text = text_of(row);
    if (!text.empty()) ++alike[results::without_names(text)][text];
  }
  std::map<std::string, std::size_t> counts;
  for (const auto& [open, texts] : alike) {
    std::size_t& count = counts[texts.size() == 1 ? texts.begin()->first : open];
    for (const auto& [text, own] : texts) count += own;
  }
  return counts;
}

std::map<std::string, std::size_t> unsupported_reasons(const run::RunReport& report) {
  return counted_texts(report, [](const results::ResultRow& row) {
    if (row.verdict != judge::verdict_name(judge::Verdict::unsupported)) return std::string();
    return row.reason.substr(0, row.reason.find(": "));
  });
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

/// The verdicts before which a converter's program had failed after another conversion, each with the try that found
/// it.
std::vector<std::pair<const results::ResultRow*, const results::AttemptRow*>> restarts_of(
    const run::RunReport& report) {
  std::vector<std::pair<const results::ResultRow*, const results::AttemptRow*>> found;
  for (const results::ResultRow& row : report.rows) {
    if (const results::AttemptRow* end = run::end_after_another(row)) found.emplace_back(&row, end);
  }
  return found;
}

}  // namespace

std::string run_json(const run::RunReport& report) {
  nlohmann::ordered_json json;
  json["run"] = report.run;
  json["planned"] = report.planned;
  json["converters"] = programs_json(report);
  json["verdicts"] = report.counts();
  json["unsupported"] = unsupported_reasons(report);
  json["results"] = nlohmann::ordered_json::array();
  for (const results::ResultRow& row : report.rows) {
    json["results"].push_back(result_json(row));
    json["results"].back()["converter_hash"] = row.key.hash;
  }
  json["restarts"] = nlohmann::ordered_json::array();
  for (const auto& [row, end] : restarts_of(report)) {
    json["restarts"].push_back({{"before", row->key.case_name},
                                {"options", row->key.options},
                                {"converter", row->key.converter},
                                {"version", row->key.version},
                                {"reason", end->reason}});
  }
  json["unused_expectations"] = report.unused_expectations;
  if (report.drift.compared > 0) {
    json["drift"] = drift_json(report.drift);
  }
  return json_line(json);
}

std::string judged_model_text(const run::RunReport& report, const std::string& repeat, const model::Graph* graph,
                              const std::string& further) {
  std::string text;
  for (const results::ResultRow& row : report.rows) {
    text += fmt::format("{}\n{}{}", verdict_line(row), headline_text(row), losses_text(row));
    const bool green = run::gate_of(row) == judge::Gate::green;
    text += green ? further : "\n" + failure_text(row, repeat, graph, further);
  }
  return text;
}

std::string unsupported_text(const run::RunReport& report) {
  std::string text;
  for (const auto& [reason, count] : unsupported_reasons(report)) {
    text += fmt::format("unsupported: {} ({})\n", reason, core::counted(count, "verdict"));
  }
  return text;
}

std::string changed_text(const run::RunReport& report) {
  std::string text;
  const auto changes = counted_texts(report, [](const results::ResultRow& row) {
    return row.judged_as.starts_with(results::kChangedBefore) ? row.judged_as : std::string();
  });
  for (const auto& [change, count] : changes) {
    text += fmt::format("{} ({})\n", change, core::counted(count, "verdict"));
  }
  return text;
}

std::string restarts_text(const run::RunReport& report) {
  std::string text;
  for (const auto& [row, end] : restarts_of(report)) {
    text += fmt::format(
        "{} {} failed after an earlier conversion in its process, no fault of {} {}, for which a new "
        "process was started: {}\n",
        row->key.converter, row->key.version, row->key.case_name, row->key.options, end->reason);
  }
  return text;
}

std::string programs_text(const run::RunReport& report) {
  std::string text;
  for (const run::RunProgram& program : report.programs) {
    const std::string hash = programs::short_hash(program.hash);
    if (report.shares_its_name({"", "", program.name, program.version, program.hash})) {
      text += fmt::format("{} {} is several programs here; program {}: {}\n", program.name, program.version, hash,
                          core::join(program.command, " "));
    }
    if (program.changed_since) {
      text +=
          fmt::format("{} {} was another program, or had other arguments, in the run of {}: program {} then, {} now\n",
                      program.name, program.version, program.changed_since->started_at,
                      programs::short_hash(program.changed_since->hash), hash);
    }
  }
  return text;
}

std::string counts_line(const run::RunReport& report) {
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : report.counts()) {
    parts.push_back(fmt::format("{} {}", count, verdict));
  }
  std::string line = fmt::format("{} planned: {}", report.planned, core::join(parts, ", "));
  const std::vector<Cause> causes = causes_of(report.rows, judge::Gate::red);
  std::size_t red = 0;
  for (const Cause& cause : causes) red += cause.rows.size();
  if (red > 1) {
    line += fmt::format("; {} red of {}", red, core::counted(causes.size(), "cause"));
  }
  if (!report.drift.drifted.empty()) line += fmt::format("; {} changed", report.drift.drifted.size());
  const std::size_t restarts = restarts_of(report).size();
  if (restarts > 0) line += "; " + core::counted(restarts, "end") + " between conversions";
  if (!report.unused_expectations.empty()) {
    line += "; " + core::counted(report.unused_expectations.size(), "expected failure") + " not met";
  }
  return line;
}

}  // namespace assay::report
