#include "results/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <tuple>

#include "harness/core/text.hpp"

namespace assay::results {
namespace {

/// Median of |x| of a standard normal variable.
constexpr double kNormalQuartile = 0.674489750196081743;

/// The SQNR as drift compares it; none where it was not measured or the outputs are exact.
std::optional<double> sqnr_of(const ResultRow& row) {
  if (!row.sqnr_db || !(*row.sqnr_db > -HUGE_VAL)) return std::nullopt;
  return std::min(*row.sqnr_db, kFloat32Db);
}

/// The middle value, of two the mean; `values` is not empty.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}
double lower_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const core::QuantParams& a, const core::QuantParams& b) {
  return a.type == b.type && a.axis == b.axis && a.block == b.block && a.zero_point == b.zero_point &&
         std::equal(a.scale.begin(), a.scale.end(), b.scale.begin(), b.scale.end(), same_number);
}

/// A tensor may be quantized in several places: its parameters in the order they were reported.
std::map<std::string, std::vector<const core::QuantParams*>> by_tensor(const ResultRow& row) {
  std::map<std::string, std::vector<const core::QuantParams*>> tensors;
  for (const ParameterRow& row_of : row.parameters) tensors[row_of.tensor].push_back(&row_of.params);
  return tensors;
}

/// What differs first between two sets of parameters that differ.
std::string difference(const core::QuantParams& before, const core::QuantParams& now) {
  if (before.type != now.type) return fmt::format("{} → {}", core::dtype_name(before.type), core::dtype_name(now.type));
  if (before.axis != now.axis) {
    const auto name = [](const auto& axis) { return axis ? fmt::format("axis {}", *axis) : "per-tensor"; };
    return fmt::format("{} → {}", name(before.axis), name(now.axis));
  }
  if (before.block != now.block) return fmt::format("blocks of {} → {}", before.block, now.block);
  if (before.scale.size() != now.scale.size()) {
    return fmt::format("{} scales → {}", before.scale.size(), now.scale.size());
  }
  const auto at = [&](std::size_t i) { return now.scale.size() > 1 ? fmt::format("[{}]", i) : std::string(); };
  for (std::size_t i = 0; i < now.scale.size(); ++i) {
    if (!same_number(before.scale[i], now.scale[i])) {
      return fmt::format("scale{} {} → {}", at(i), core::exact_text(static_cast<float>(before.scale[i])),
                         core::exact_text(static_cast<float>(now.scale[i])));
    }
  }
  for (std::size_t i = 0; i < std::min(before.zero_point.size(), now.zero_point.size()); ++i) {
    if (before.zero_point[i] != now.zero_point[i]) {
      return fmt::format("zero_point{} {} → {}", at(i), before.zero_point[i], now.zero_point[i]);
    }
  }
  return fmt::format("{} zero points → {}", before.zero_point.size(), now.zero_point.size());
}

/// Tensors whose parameters differ, one text each.
std::vector<std::string> parameter_differences(const ResultRow& before, const ResultRow& now) {
  const auto old_tensors = by_tensor(before);
  const auto new_tensors = by_tensor(now);
  std::vector<std::string> texts;
  for (const auto& [name, params] : old_tensors) {
    const auto found = new_tensors.find(name);
    if (found == new_tensors.end()) {
      texts.push_back(fmt::format("\"{}\": no parameters any more", name));
    } else if (params.size() != found->second.size()) {
      texts.push_back(fmt::format("\"{}\": quantized {} times → {}", name, params.size(), found->second.size()));
    } else {
      for (std::size_t i = 0; i < params.size(); ++i) {
        if (same(*params[i], *found->second[i])) continue;
        texts.push_back(fmt::format("\"{}\": {}", name, difference(*params[i], *found->second[i])));
        break;
      }
    }
  }
  for (const auto& [name, params] : new_tensors) {
    if (!old_tensors.contains(name)) texts.push_back(fmt::format("\"{}\": parameters are new", name));
  }
  return texts;
}

std::string outcome(const ResultRow& row) {
  return row.facet.empty() ? row.verdict : fmt::format("{} ({}/{})", row.verdict, row.stage, row.facet);
}
bool same_outcome(const ResultRow& a, const ResultRow& b) {
  return std::tie(a.verdict, a.stage, a.facet) == std::tie(b.verdict, b.stage, b.facet);
}

/// A margin with at most four digits in all; how far a large one is beyond every sense says nothing.
std::string margin_text(double margin) {
  constexpr double kLarge = 10, kBeyondSense = 1e6;
  if (std::isinf(margin)) return "∞";
  if (std::isnan(margin)) return "not a number";
  if (margin >= kBeyondSense) return "over a million";
  return std::abs(margin) < kLarge ? fmt::format("{:.3f}", margin) : fmt::format("{:.4g}", margin);
}

std::optional<Change> sqnr_change(const AnchorRow& anchor, const ResultRow& now) {
  const std::optional<double> before = sqnr_of(anchor.result), after = sqnr_of(now);
  if (before && after) {
    const double delta = *after - *before;
    const double limit = limit_db(anchor.wobble);
    if (std::abs(delta) <= limit) return std::nullopt;
    return Change{ChangeKind::sqnr, delta,
                  fmt::format("{:.2f} → {:.2f} dB ({:+.2f}, limit {:.2f})", *before, *after, delta, limit)};
  }
  const bool alike = before.value_or(kFloat32Db) == after.value_or(kFloat32Db);
  if (alike || !same_outcome(anchor.result, now)) return std::nullopt;
  const auto text = [](const std::optional<double>& db) {
    return db ? fmt::format("{:.2f} dB", *db) : std::string("no SQNR (exact, or not measured)");
  };
  return Change{ChangeKind::sqnr, std::nullopt, fmt::format("{} → {}", text(before), text(after))};
}

std::optional<Change> parameter_change(const AnchorRow& anchor, const ResultRow& now) {
  if (anchor.wobble.parameters) return std::nullopt;
  // A verdict that changed may have ended before there were any.
  const bool none = anchor.result.parameters.empty() || now.parameters.empty();
  if (none && !same_outcome(anchor.result, now)) return std::nullopt;
  const std::vector<std::string> differences = parameter_differences(anchor.result, now);
  if (differences.empty()) return std::nullopt;
  std::string detail = differences.front();
  if (differences.size() > 1) detail += fmt::format(", and {} more tensors", differences.size() - 1);
  return Change{ChangeKind::parameters, std::nullopt, std::move(detail)};
}

using Series = std::tuple<std::string, std::string, std::string, std::string>;
Series series_of(const ResultRow& row, bool with_content) {
  return {row.key.case_name, with_content ? row.case_hash : "", row.key.options, row.key.converter};
}

}  // namespace

Wobble measure_wobble(std::span<const ResultRow> repeats) {
  constexpr std::size_t kFewest = 3;
  Wobble wobble;
  wobble.repeats = repeats.size();
  std::vector<double> values, steps, parameter_steps;
  for (const ResultRow& row : repeats) {
    if (const auto sqnr = sqnr_of(row)) values.push_back(*sqnr);
  }
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  if (values.size() >= kFewest) wobble.sqnr_db = lower_median(steps) / (kNormalQuartile * std::numbers::sqrt2);
  for (std::size_t i = 1; i < repeats.size(); ++i) {
    parameter_steps.push_back(parameter_differences(repeats[i - 1], repeats[i]).empty() ? 0 : 1);
  }
  if (repeats.size() >= kFewest) wobble.parameters = lower_median(parameter_steps) > 0;
  return wobble;
}

double limit_db(const Wobble& wobble) {
  return std::max(kCaseFloorDb, kWobbleFactor * wobble.sqnr_db * std::numbers::sqrt2);
}

std::string_view change_name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::verdict:
      return "verdict";
    case ChangeKind::margin:
      return "margin";
    case ChangeKind::sqnr:
      return "sqnr";
    case ChangeKind::parameters:
      return "parameters";
  }
  return "";
}

std::vector<Change> changes_since(const AnchorRow& anchor, const ResultRow& now) {
  std::vector<Change> changes;
  const ResultRow& before = anchor.result;
  if (!same_outcome(before, now)) {
    changes.push_back({ChangeKind::verdict, std::nullopt, fmt::format("{} → {}", outcome(before), outcome(now))});
  }
  if (before.margin && now.margin && (*before.margin <= 1) != (*now.margin <= 1)) {
    changes.push_back({ChangeKind::margin, *now.margin - *before.margin,
                       fmt::format("{} → {} (error ÷ limit; beyond 1 is wrong)", margin_text(*before.margin),
                                   margin_text(*now.margin))});
  }
  if (auto change = sqnr_change(anchor, now)) changes.push_back(*std::move(change));
  if (auto change = parameter_change(anchor, now)) changes.push_back(*std::move(change));
  return changes;
}

bool SuiteShift::drifted() const { return testable() && test.p < kSuiteAlpha && std::abs(median_db) > kSuiteFloorDb; }

SuiteShift suite_shift(const std::map<std::string, std::vector<double>>& differences) {
  SuiteShift shift;
  std::vector<double> moved;
  for (const auto& [family, values] : differences) {
    if (values.empty()) continue;
    shift.families.push_back({family, values.size(), median(values)});
    if (shift.families.back().median_db != 0) moved.push_back(shift.families.back().median_db);
  }
  shift.test = signed_rank_test(moved);
  if (!moved.empty()) shift.median_db = median(moved);
  return shift;
}

bool DriftReport::any() const {
  return !drifted.empty() ||
         std::any_of(suites.begin(), suites.end(), [](const auto& suite) { return suite.second.drifted(); });
}

bool comparable(const ResultRow& row) {
  static const std::set<std::string> kOurs{"skipped", "not-run", "invalid-case", "harness-error"};
  return !kOurs.contains(row.verdict);
}

DriftReport compare_to_anchors(const std::vector<AnchorRow>& anchors, const std::vector<ResultRow>& verdicts) {
  std::map<Series, const AnchorRow*> index;
  std::set<Series> any_content;
  for (const AnchorRow& anchor : anchors) {
    index.emplace(series_of(anchor.result, true), &anchor);
    any_content.insert(series_of(anchor.result, false));
  }
  DriftReport report;
  std::set<const AnchorRow*> met;
  std::map<std::string, std::map<std::string, std::vector<double>>> differences;
  for (const ResultRow& now : verdicts) {
    if (!comparable(now)) continue;
    const auto found = index.find(series_of(now, true));
    if (found == index.end()) {
      ++report.without;
      if (any_content.contains(series_of(now, false))) ++report.edited;
      continue;
    }
    ++report.compared;
    met.insert(found->second);
    const AnchorRow& anchor = *found->second;
    auto& of_family = differences[now.key.converter + "@" + now.key.version][now.family];
    const auto before = sqnr_of(anchor.result), after = sqnr_of(now);
    if (before && after) of_family.push_back(*after - *before);
    std::vector<Change> changes = changes_since(anchor, now);
    if (!changes.empty()) report.drifted.push_back({anchor, now, std::move(changes), ""});
  }
  report.unmet = index.size() - met.size();
  for (const auto& [converter, families] : differences) report.suites.emplace(converter, suite_shift(families));
  return report;
}

core::Result<DriftReport> record_drift(Store& store, const std::string& run, const std::vector<ResultRow>& verdicts) {
  const auto anchors = store.anchors();
  if (!anchors) return anchors.error();
  if (anchors->empty()) return DriftReport{};
  DriftReport report = compare_to_anchors(*anchors, verdicts);
  std::vector<ChangeRow> rows;
  for (const Drifted& each : report.drifted) {
    for (const Change& change : each.changes) {
      rows.push_back(
          {each.now.key, each.anchor.id, std::string(change_name(change.kind)), change.delta, change.detail, "", ""});
    }
  }
  if (auto status = store.record_changes(run, rows); !status) return status.error();
  return report;
}

core::Status trace_back(DriftReport& report, Store& store, const std::vector<std::string>& between) {
  for (Drifted& drifted : report.drifted) {
    drifted.since = drifted.now.key.version;
    const auto walked = store.walk_back(drifted.now, between, [&](const std::string& version, const ResultRow* row) {
      if (row != nullptr && (!same_outcome(*row, drifted.now) || changes_since(drifted.anchor, *row).empty())) {
        return false;
      }
      drifted.since = version;
      return true;
    });
    if (!walked) return walked;
  }
  return core::success();
}

}  // namespace assay::results
