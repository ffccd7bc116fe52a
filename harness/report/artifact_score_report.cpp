#include "harness/report/artifact_score_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "harness/core/counted.hpp"

namespace assay::report {
namespace {

using mutants::Escape;
using mutants::Fate;
using mutants::FateCounts;
using nlohmann::ordered_json;

ordered_json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json();
}

ordered_json counts_json(const FateCounts& counts) {
  ordered_json json{{"tried", counts.tried()}, {"visible", counts.visible()}};
  for (const Fate fate : {Fate::red, Fate::unjudged, Fate::passed, Fate::failed, Fate::hidden, Fate::not_run}) {
    json[fate == Fate::not_run ? "not_run" : std::string(mutants::fate_name(fate))] = counts.of(fate);
  }
  return json;
}

using Groups = std::map<std::pair<std::string, std::string>, FateCounts>;

ordered_json groups_json(const Groups& groups) {
  ordered_json json = ordered_json::object();
  for (const auto& [key, counts] : groups) json[key.first][key.second] = counts_json(counts);
  return json;
}

ordered_json troubles_json(const std::vector<mutants::PlainTrouble>& troubles) {
  ordered_json list = ordered_json::array();
  for (const mutants::PlainTrouble& each : troubles) {
    list.push_back(
        {{"converter", each.source}, {"case", each.case_name}, {"options", each.options}, {"reason", each.reason}});
  }
  return list;
}

std::string decibels(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

std::string groups_text(const Groups& groups, std::string_view what) {
  std::string text;
  text += fmt::format("\n{:<52} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", what, "tried", "not run", "visible",
                      "red", "unjudged", "passed", "failed");
  const auto row = [&](const std::string& name, const FateCounts& counts) {
    text += fmt::format("{:<52} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", name, counts.tried(),
                        counts.of(Fate::not_run), counts.visible(), counts.of(Fate::red), counts.of(Fate::unjudged),
                        counts.of(Fate::passed), counts.of(Fate::failed));
  };
  for (const auto& [key, counts] : groups) {
    row(key.first.empty() ? key.second : key.first + ", " + key.second, counts);
  }
  return text;
}

std::string escape_text(const Escape& each, const EscapeCommands& commands) {
  std::string text;
  text +=
      fmt::format("{}: {} {}{}, {}: node \"{}\" ({}): {}\n", mutants::fate_name(each.fate), each.source, each.case_name,
                  each.options.empty() ? "" : ", options " + each.options, each.group, each.node, each.op, each.what);
  text += fmt::format("  {} dB, plain {} dB, predicted {} dB{}; {}verdict {}{}{}\n", decibels(each.changed_db),
                      decibels(each.plain_db), decibels(each.predicted_db),
                      each.predicted_db && !each.prediction_gates ? " (which doesn't gate)" : "",
                      each.margin ? fmt::format("{:.2g} of the bound, ", *each.margin) : "", each.verdict,
                      each.reason.empty() ? "" : ": ", each.reason);
  if (each.covered) text += "  the plain artifact's verdict counts this node as judged\n";
  text += fmt::format("  repeat: {}\n", commands.repeat(each));
  if (!each.kept.empty()) text += fmt::format("  as files: {}\n", commands.check(each));
  return text;
}

std::string troubles_text(const std::vector<mutants::PlainTrouble>& troubles, std::string_view what) {
  std::string text;
  for (const mutants::PlainTrouble& each : troubles) {
    text += fmt::format("{}: {} {}{}: {}\n", what, each.source, each.case_name,
                        each.options.empty() ? "" : ", options " + each.options, each.reason);
  }
  return text;
}

}  // namespace

ordered_json artifact_score_json(const mutants::ArtifactScoreReport& report, bool falsified,
                                 const EscapeCommands& commands) {
  ordered_json json;
  json["artifacts"] = report.artifacts;
  json["total"] = counts_json(report.total());
  json["overclaimed"] = report.overclaimed();
  json[falsified ? "operators" : "defects"] = groups_json(report.groups);
  if (falsified) json["falsifications"] = groups_json(report.kinds);
  json["executed_by"] = report.executors;
  json["false_alarms"] = troubles_json(report.false_alarms);
  json["left_out"] = troubles_json(report.left_out);
  json["listed"] = ordered_json::array();
  for (const Escape& each : report.escapes) {
    json["listed"].push_back({{"fate", mutants::fate_name(each.fate)},
                              {"converter", each.source},
                              {"case", each.case_name},
                              {"options", each.options},
                              {"group", each.group},
                              {"node", each.node},
                              {"op", each.op},
                              {"defect", each.what},
                              {"verdict", each.verdict},
                              {"reason", each.reason},
                              {"plain_db", number(each.plain_db)},
                              {"changed_db", number(each.changed_db)},
                              {"predicted_db", number(each.predicted_db)},
                              {"prediction_gates", each.prediction_gates},
                              {"covered", each.covered},
                              {"margin", number(each.margin)},
                              {"executor", each.executor},
                              {"kept", each.kept.string()},
                              {"repeat", commands.repeat(each)}});
  }
  return json;
}

std::string artifact_score_text(const mutants::ArtifactScoreReport& report, bool falsified,
                                const EscapeCommands& commands) {
  std::string text;
  text += groups_text(report.groups, falsified ? "operator falsified" : "kind of defect");
  if (falsified) text += groups_text(report.kinds, "falsification");
  text += "\n";
  for (const Escape& each : report.escapes) text += escape_text(each, commands);
  text += troubles_text(report.false_alarms, "false alarm on the plain artifact");
  text += troubles_text(report.left_out, "left out");
  const FateCounts total = report.total();
  const double share =
      total.visible() == 0 ? 0 : 100 * static_cast<double>(total.of(Fate::red)) / static_cast<double>(total.visible());
  for (const auto& [name, count] : report.executors) text += fmt::format("executed by {}: {}\n", name, count);
  text += fmt::format(
      "{}, {} changed, {} not run, {} visible: {} red ({:.2f} %), {} unjudged, {} passed, {} failed; "
      "{} at nodes that count as judged; {}\n",
      core::counted(report.artifacts, "artifact"), total.tried(), total.of(Fate::not_run), total.visible(),
      total.of(Fate::red), share, total.of(Fate::unjudged), total.of(Fate::passed), total.of(Fate::failed),
      report.overclaimed(), core::counted(report.false_alarms.size(), "false alarm"));
  return text;
}

}  // namespace assay::report
