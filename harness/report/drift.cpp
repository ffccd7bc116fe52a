#include "harness/report/drift.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/history.hpp"

namespace assay::report {
namespace {

using results::Drifted;
using results::DriftReport;
using results::SuiteShift;

/// "anchor 1.15.1 of 2026-01-31 (first release)"; without a reason where nobody accepted one.
std::string anchor_text(const results::AnchorRow& anchor) {
  const std::string& version = anchor.result.key.version;
  if (anchor.id == 0) {
    return fmt::format("against {}, not accepted", version);
  }
  constexpr std::size_t kDay = 10;
  return fmt::format("anchor {} of {} ({})", version, anchor.accepted_at.substr(0, kDay), anchor.reason);
}

std::string suite_verdict(const SuiteShift& shift) {
  if (shift.drifted()) {
    return "drifted";
  }
  if (!shift.testable()) {
    return fmt::format("too few for the test, which needs {}", results::fewest_pairs(results::kSuiteAlpha));
  }
  return shift.test.p < results::kSuiteAlpha
             ? fmt::format("no drift: the median is within {} dB", results::kSuiteFloorDb)
             : fmt::format("no drift: p is {} or more", results::kSuiteAlpha);
}

std::map<std::string, std::size_t> changed_by_family(const DriftReport& report, const std::string& converter) {
  std::map<std::string, std::size_t> counts;
  for (const Drifted& each : report.drifted) {
    if (each.now.key.converter + "@" + each.now.key.version == converter) {
      ++counts[each.now.family];
    }
  }
  return counts;
}

nlohmann::ordered_json change_json(const Drifted& each) {
  nlohmann::ordered_json json;
  json["case"] = each.now.key.case_name;
  json["options"] = each.now.key.options;
  json["converter"] = each.now.key.converter;
  json["version"] = each.now.key.version;
  json["anchor_version"] = each.anchor.result.key.version;
  json["accepted"] = each.anchor.id != 0;
  json["accepted_at"] = each.anchor.accepted_at;
  json["anchor_reason"] = each.anchor.reason;
  json["since"] = each.since.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(each.since);
  json["verdict"] = each.now.verdict;
  json["stage"] = each.now.stage;
  json["facet"] = each.now.facet.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(each.now.facet);
  json["message"] = each.now.reason;
  json["anchor_message"] = each.anchor.result.reason;
  json["wobble_db"] = each.anchor.wobble.sqnr_db;
  json["changes"] = nlohmann::ordered_json::array();
  for (const results::Change& change : each.changes) {
    const bool number = change.delta && std::isfinite(*change.delta);
    json["changes"].push_back({{"kind", results::change_name(change.kind)},
                               {"delta", number ? nlohmann::ordered_json(*change.delta) : nullptr},
                               {"detail", change.detail}});
  }
  return json;
}

nlohmann::ordered_json suite_json(const std::string& converter, const SuiteShift& shift) {
  nlohmann::ordered_json json;
  json["converter"] = converter;
  json["families_moved"] = shift.test.pairs;
  json["median_db"] = shift.median_db;
  json["p"] = shift.test.p;
  json["testable"] = shift.testable();
  json["drifted"] = shift.drifted();
  json["families"] = nlohmann::ordered_json::array();
  for (const results::FamilyShift& family : shift.families) {
    json["families"].push_back(
        {{"family", family.family}, {"verdicts", family.verdicts}, {"median_db", family.median_db}});
  }
  return json;
}

}  // namespace

std::string drifted_text(const DriftReport& report) {
  std::string text;
  for (const Drifted& each : report.drifted) {
    const results::JobKey& key = each.now.key;
    text += fmt::format("drift: {}  {}  {}@{}  {}{}\n", key.case_name, key.options, key.converter, key.version,
                        anchor_text(each.anchor), each.since.empty() ? "" : ", since " + each.since);
    for (const results::Change& change : each.changes) {
      text += fmt::format("    {:<10} {}\n", results::change_name(change.kind), with_short_figures(change.detail));
      if (change.kind != results::ChangeKind::verdict) continue;
      for (const results::ResultRow* row : {&each.anchor.result, &each.now}) {
        if (const std::string message = recorded_message(*row); !message.empty()) {
          text += fmt::format("               {}: {}\n", row == &each.now ? "now" : "before", message);
        }
      }
    }
  }
  return text;
}

std::string verdict_changes(const DriftReport& report) {
  std::map<std::string, std::size_t> counts;
  std::size_t others = 0;
  for (const Drifted& each : report.drifted) {
    if (each.anchor.result.verdict == each.now.verdict) {
      ++others;
    } else {
      ++counts[each.anchor.result.verdict + " → " + each.now.verdict];
    }
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size() + 1);
  for (const auto& [change, count] : counts) parts.push_back(fmt::format("{} {}", count, change));
  if (others > 0) parts.push_back(fmt::format("{} with the same verdict", others));
  return core::join(parts, ", ");
}

std::string suites_text(const DriftReport& report) {
  std::string text;
  for (const auto& [converter, shift] : report.suites) {
    if (shift.test.pairs == 0) {
      continue;
    }
    text += fmt::format("{}: the median SQNR of {} of {} moved, their median by {:+.3f} dB, p {:.2g}: {}\n", converter,
                        shift.test.pairs, core::counted(shift.families.size(), "family", "families"), shift.median_db,
                        shift.test.p, suite_verdict(shift));
  }
  return text;
}

std::string families_table(const DriftReport& report) {
  std::string text;
  for (const auto& [converter, shift] : report.suites) {
    std::map<std::string, std::size_t> changed = changed_by_family(report, converter);
    std::string rows;
    std::size_t still = 0;
    for (const results::FamilyShift& family : shift.families) {
      if (family.median_db == 0 && !changed.contains(family.family)) {
        ++still;
        continue;
      }
      rows += fmt::format("{:<30} {:>9} {:>8} {:>+12.3f}\n", family.family, family.verdicts, changed[family.family],
                          family.median_db);
      changed.erase(family.family);
    }
    for (const auto& [family, count] : changed) {
      rows += fmt::format("{:<30} {:>9} {:>8} {:>12}\n", family, 0, count, "-");
    }
    if (!rows.empty()) {
      text += fmt::format("{:<30} {:>9} {:>8} {:>12}\n{}", "family", "measured", "changed", "median dB", rows);
    }
    text +=
        core::counted(still, rows.empty() ? "family" : "other family", rows.empty() ? "families" : "other families") +
        " didn't move\n";
  }
  return text;
}

nlohmann::ordered_json drift_json(const DriftReport& report) {
  nlohmann::ordered_json json;
  json["drifted"] = report.any();
  json["compared"] = report.compared;
  json["without_anchor"] = report.without;
  json["edited"] = report.edited;
  json["unmet"] = report.unmet;
  json["changes"] = nlohmann::ordered_json::array();
  for (const Drifted& each : report.drifted) {
    json["changes"].push_back(change_json(each));
  }
  json["suites"] = nlohmann::ordered_json::array();
  for (const auto& [converter, shift] : report.suites) {
    json["suites"].push_back(suite_json(converter, shift));
  }
  return json;
}

}  // namespace assay::report
