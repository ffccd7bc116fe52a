#include "harness/report/score_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/core/counted.hpp"
#include "harness/score/share.hpp"

namespace assay::report {
namespace {

using converters::ArtifactKind;
using nlohmann::ordered_json;

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json alarms_json(const std::vector<score::FalseAlarm>& alarms) {
  ordered_json list = ordered_json::array();
  for (const score::FalseAlarm& alarm : alarms) {
    list.push_back(
        {{"variant", alarm.variant}, {"case", alarm.case_name}, {"options", alarm.options}, {"reason", alarm.reason}});
  }
  return list;
}

std::string two_decimals(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

}  // namespace

void add_variants(ordered_json& json, const score::FalseAlarmReport& report) {
  if (!json.contains("false_alarms")) json["false_alarms"] = ordered_json::array();
  for (const ordered_json& alarm : alarms_json(report.alarms)) json["false_alarms"].push_back(alarm);
  json["variants"] = ordered_json::array();
  for (const score::VariantScore& each : report.variants) {
    json["variants"].push_back({{"variant", each.variant},
                                {"judgements", each.judgements},
                                {"known", each.known},
                                {"same", each.same},
                                {"refused", each.refused},
                                {"alarms", each.alarms},
                                {"skipped", each.skipped},
                                {"note", each.note}});
  }
  json["unused_expectations"] = report.unused_expectations;
  json["false_alarm_judgements"] = report.judgements();
  json["false_alarm_upper_95"] = report.upper_bound();
}

ordered_json score_json(const score::ScoreReport& report, const std::vector<ArtifactKind>& kinds) {
  ordered_json json;
  json["faults"] = report.faults.size();
  json["killed"] = score::share_of(report, kinds.front()).killed;
  json["survivors"] = report.survivors(kinds.front());
  json["false_alarms"] = alarms_json(report.false_alarms);
  json["by_artifact"] = ordered_json::object();
  json["matrix"] = ordered_json::object();
  for (const ArtifactKind kind : kinds) {
    const std::string word(core::word_of(kind));
    const score::Share share = score::share_of(report, kind);
    json["by_artifact"][word] = {{"faults", share.faults},
                                 {"killed", share.killed},
                                 {"survivors", report.survivors(kind)},
                                 {"unseen", score::unseen(report, kind)}};
    ordered_json& matrix = json["matrix"][word] = ordered_json::object();
    for (const auto& [fault, score] : report.kinds.at(kind)) {
      matrix[fault] = {{"concerned", score.concerned.size()}, {"kills", score.kills}};
    }
  }
  json["effects"] = ordered_json::object();
  for (const auto& [fault, effect] : report.effects) {
    json["effects"][fault] = {{"median_db", number_or_null(effect.median())},
                              {"largest_db", number_or_null(effect.largest())},
                              {"changes_status", effect.changes_status},
                              {"changes_shape", effect.changes_shape}};
  }
  json["broken_claims"] = ordered_json::array();
  for (const auto& [name, fault] : report.broken_claims) {
    json["broken_claims"].push_back({{"case", name}, {"fault", fault}});
  }
  json["unclaimed"] = report.unclaimed;
  json["idle_cases"] = report.idle_cases;
  json["trials"] = report.trials;
  json["judgements"] = report.judgements;
  return json;
}

std::string score_text(const score::ScoreReport& report, const std::vector<ArtifactKind>& kinds, bool whole) {
  std::string text;
  text += fmt::format("{:<36}", "fault");
  for (const ArtifactKind kind : kinds) text += fmt::format(" {:>14}", core::word_of(kind));
  text += fmt::format(" {:>10} {:>10}\n", "median dB", "largest dB");
  for (const std::string& fault : report.faults) {
    text += fmt::format("{:<36}", fault);
    for (const ArtifactKind kind : kinds) {
      const auto score = report.kinds.at(kind).find(fault);
      const bool seen = score != report.kinds.at(kind).end();
      text += fmt::format(
          " {:>14}", seen ? fmt::format("{}/{}", score->second.kills.size(), score->second.concerned.size()) : "-");
    }
    const auto effect = report.effects.find(fault);
    const bool measured = effect != report.effects.end();
    text += fmt::format(" {:>10} {:>10}\n", measured ? two_decimals(effect->second.median()) : "-",
                        measured ? two_decimals(effect->second.largest()) : "-");
  }
  for (const ArtifactKind kind : kinds) {
    const score::Share share = score::share_of(report, kind);
    text += fmt::format("\n{}: {} of {} observable faults killed, {:.1f} % (at least {} %)\n", core::word_of(kind),
                        share.killed, share.faults, share.percent(), score::least_share(kind));
    for (const std::string& fault : report.survivors(kind)) text += fmt::format("  survives: {}\n", fault);
    for (const std::string& fault : score::unseen(report, kind)) text += fmt::format("  seen by no case: {}\n", fault);
  }
  for (const auto& [name, fault] : report.broken_claims)
    text += fmt::format("{} claims {} and does not kill it\n", name, fault);
  for (const std::string& fault : report.unclaimed) {
    if (whole) text += fmt::format("no case claims to kill {}\n", fault);
  }
  for (const std::string& name : report.idle_cases) {
    if (whole) text += fmt::format("{} kills nothing\n", name);
  }
  for (const score::FalseAlarm& alarm : report.false_alarms) {
    text += fmt::format("false alarm ({}): {}, options {}: {}\n", alarm.variant, alarm.case_name, alarm.options,
                        alarm.reason);
  }
  text += fmt::format("{}, {}, {}, {}, {}\n", core::counted(report.trials, "trial"),
                      core::counted(report.judgements, "judgement"),
                      core::counted(report.broken_claims.size(), "broken claim"),
                      core::counted(whole ? report.idle_cases.size() : 0, "idle case"),
                      core::counted(report.false_alarms.size(), "false alarm"));
  return text;
}

std::string alarms_text(const score::FalseAlarmReport& report) {
  std::string text;
  text += fmt::format("{:<36} {:>10} {:>10} {:>8} {:>7} {:>7}\n", "variant", "judged", "same bits", "refused", "known",
                      "alarms");
  for (const score::VariantScore& each : report.variants) {
    text +=
        fmt::format("{:<36} {:>10} {:>10} {:>8} {:>7} {:>7}{}\n", each.variant, each.judgements, each.same,
                    each.refused, each.known, each.alarms, each.skipped.empty() ? "" : "  skipped: " + each.skipped);
    if (each.skipped.empty() && !each.note.empty()) text += fmt::format("  {}\n", each.note);
  }
  for (const score::FalseAlarm& alarm : report.alarms) {
    text += fmt::format("false alarm ({}): {}, options {}: {}\n", alarm.variant, alarm.case_name, alarm.options,
                        alarm.reason);
  }
  for (const std::string& line : report.unused_expectations) text += fmt::format("{}\n", line);
  text += fmt::format("{} in {}: a rate of at most {:.2g} (95 %)\n", core::counted(report.alarms.size(), "false alarm"),
                      core::counted(report.judgements(), "judgement"), report.upper_bound());
  return text;
}

}  // namespace assay::report
