#include "harness/report/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "harness/core/counted.hpp"
#include "harness/core/version.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/verdict.hpp"
#include "results/drift.hpp"

namespace assay::report {
namespace {

using results::ResultRow;

using Points = std::map<std::string, const ResultRow*, core::VersionLess>;

std::string state_of(const ResultRow& row) {
  if (row.verdict == "pass") {
    return row.verdict;
  }
  return fmt::format("{} ({})", row.verdict, place_of(row));
}

/// "*" at the value's place between `low` and `high`, "|" at both ends.
std::string mark(double value, double low, double high) {
  constexpr int kWidth = 41;
  std::string line(kWidth, ' ');
  line.front() = line.back() = '|';
  value = std::clamp(value, low, high);  // what isn't finite stands at an end
  line[static_cast<std::size_t>(std::lround((value - low) / (high - low) * (kWidth - 1)))] = '*';
  return line;
}

/// The oldest version from which on every one is in the newest's state.
Points::const_iterator since(const Points& points) {
  auto first = std::prev(points.end());
  const std::string state = state_of(*first->second);
  while (first != points.begin() && state_of(*std::prev(first)->second) == state) {
    --first;
  }
  return first;
}

/// Whether nothing is known to be broken there: an expected failure is, whatever its gate.
bool is_whole(const ResultRow& row) { return row.verdict == "pass" || row.gate == "neutral" || row.gate == "amber"; }

/// The oldest version from which on up to `end`, not included, every one is broken, in whatever way.
Points::const_iterator broken_since(const Points& points, Points::const_iterator end) {
  while (end != points.begin() && !is_whole(*std::prev(end)->second)) --end;
  return end;
}

/// The oldest version from which on every one is whole again; the end where none was broken before, or the newest is.
Points::const_iterator mended_in(const Points& points) {
  auto whole = points.end();
  while (whole != points.begin() && is_whole(*std::prev(whole)->second)) --whole;
  return whole == points.begin() ? points.end() : whole;
}

std::string since_text(const Points& points) {
  const auto first = since(points), mended = mended_in(points), broken = broken_since(points, mended);
  const auto oldest = [&](const auto& at) { return at == points.begin() ? ", the oldest recorded" : ""; };
  std::string text = fmt::format("{} since {}{}", state_of(*first->second), first->first, oldest(first));
  if (mended != points.end()) {
    text += fmt::format("; before, broken since {}{}", broken->first, oldest(broken));
  } else if (broken != points.end() && broken != first) {
    text += fmt::format("; broken since {}{}", broken->first, oldest(broken));
  }
  return text;
}

/// The verdicts of a case under one option set by one converter; an edited case starts anew.
using SeriesName = std::tuple<std::string, std::string, std::string, std::string>;
SeriesName case_series_of(const ResultRow& result) {
  return {result.key.case_name, result.key.options, result.key.converter, result.case_hash};
}

/// Oldest first: the newest of a version stays.
std::map<SeriesName, Points> all_series(std::span<const results::Store::HistoryRow> rows) {
  std::map<SeriesName, Points> series;
  for (const results::Store::HistoryRow& row : rows)
    series[case_series_of(row.result)][row.result.key.version] = &row.result;
  return series;
}

std::string plot(const Points& points) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const auto& [version, row] : points) {
    if (row->sqnr_db && std::isfinite(*row->sqnr_db)) {
      low = std::min(low, *row->sqnr_db);
      high = std::max(high, *row->sqnr_db);
    }
  }
  if (low > high) low = high = 0;  // nothing finite was measured
  if (const double middle = (low + high) / 2; high - low < 1) {
    low = middle - 0.5;
    high = middle + 0.5;
  }
  std::string text, before;
  for (const auto& [version, row] : points) {
    text += fmt::format("  {:<14} ", version);
    text += row->sqnr_db ? fmt::format("{:>7} dB {}", fixed(*row->sqnr_db, 2), mark(*row->sqnr_db, low, high))
                         : fmt::format("{:>10} {:41}", "-", "");
    text += fmt::format("  {}\n", state_of(*row));
    const std::string message = recorded_message(*row);
    if (!message.empty() && state_of(*row) != before) text += fmt::format("                 {}\n", message);
    before = state_of(*row);
  }
  return text + fmt::format("  {}\n", since_text(points));
}

}  // namespace

std::string recorded_message(const ResultRow& row) {
  return row.verdict == "pass" ? "" : with_short_figures(row.reason.substr(0, row.reason.find('\n')));
}

std::vector<results::Store::HistoryRow> changed_versions(std::span<const results::Store::HistoryRow> rows) {
  std::set<std::pair<SeriesName, std::string>> kept;
  for (const auto& [name, points] : all_series(rows)) {
    std::set<std::string> versions;
    for (auto next = std::next(points.begin()); next != points.end(); ++next) {
      results::AnchorRow before;
      before.result = *std::prev(next)->second;
      if (!results::changes_since(before, *next->second).empty()) versions.insert(next->first);
    }
    if (!versions.empty()) versions.insert(points.begin()->first);
    for (const std::string& version : versions) kept.emplace(name, version);
  }
  std::vector<results::Store::HistoryRow> changed;
  std::ranges::copy_if(rows, std::back_inserter(changed), [&](const results::Store::HistoryRow& row) {
    return kept.contains({case_series_of(row.result), row.result.key.version});
  });
  return changed;
}

std::vector<results::Store::HistoryRow> became_so_since(std::span<const results::Store::HistoryRow> rows,
                                                        const std::string& version) {
  std::set<SeriesName> kept;
  for (const auto& [name, points] : all_series(rows)) {
    const auto first = since(points);
    // Of what is so in the oldest recorded version nobody knows since when.
    if (first != points.begin() && !core::version_less(first->first, version)) kept.insert(name);
  }
  std::vector<results::Store::HistoryRow> chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen), [&](const results::Store::HistoryRow& row) {
    return kept.contains(case_series_of(row.result));
  });
  return chosen;
}

nlohmann::ordered_json history_json(const results::Store::HistoryRow& row) {
  nlohmann::ordered_json json;
  json["started_at"] = row.run.started_at;
  json["run"] = row.run.id;
  json["case"] = row.result.key.case_name;
  json["case_hash"] = row.result.case_hash;
  json["options"] = row.result.key.options;
  json["converter"] = row.result.key.converter;
  json["version"] = row.result.key.version;
  json["converter_hash"] = row.result.key.hash;
  json["verdict"] = row.result.verdict;
  json["stage"] = row.result.stage;
  json["facet"] = row.result.facet;
  json["message"] = row.result.reason;
  json["sqnr_db"] = row.result.sqnr_db ? nlohmann::ordered_json(*row.result.sqnr_db) : nullptr;
  json["margin"] = row.result.margin ? nlohmann::ordered_json(*row.result.margin) : nullptr;
  return json;
}

std::string history_line(const results::Store::HistoryRow& row, bool with_program) {
  std::string text =
      fmt::format("{}  {:<13} {}  {}  {}@{}", row.run.started_at, row.result.verdict, row.result.key.case_name,
                  row.result.key.options, row.result.key.converter, row.result.key.version);
  if (row.result.sqnr_db) {
    text += fmt::format("  {} dB", fixed(*row.result.sqnr_db, 2));
  }
  if (row.result.margin) {
    text += "  margin " + figure(*row.result.margin);
  }
  if (with_program) {
    text += "  program " + (row.result.key.hash.empty() ? "unknown" : programs::short_hash(row.result.key.hash));
  }
  return text;
}

std::size_t series_count(std::span<const results::Store::HistoryRow> rows) { return all_series(rows).size(); }

std::string history_plots(std::span<const results::Store::HistoryRow> rows) {
  std::string text;
  for (const auto& [name, points] : all_series(rows)) {
    if (points.size() > 1) {
      text += fmt::format("\n{}  {}  {}\n{}", std::get<0>(name), std::get<1>(name), std::get<2>(name), plot(points));
    }
  }
  return text;
}

std::string history_summary(std::span<const results::Store::HistoryRow> rows) {
  std::map<SeriesName, std::size_t> verdicts;
  for (const results::Store::HistoryRow& row : rows) ++verdicts[case_series_of(row.result)];
  std::string text;
  for (const auto& [name, points] : all_series(rows)) {
    const auto& [version, newest] = *points.rbegin();
    const std::size_t count = verdicts[name];
    text += fmt::format("{}  {}  {}@{}  {}", newest->key.case_name, newest->key.options, newest->key.converter, version,
                        since_text(points));
    if (newest->sqnr_db) text += "  " + decibels(*newest->sqnr_db);
    if (newest->margin) text += "  margin " + figure(*newest->margin);
    text += fmt::format("  ({}, {})\n", core::counted(count, "verdict"), core::counted(points.size(), "version"));
  }
  return text;
}

}  // namespace assay::report
