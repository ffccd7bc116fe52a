#include "harness/report/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/report/causes.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/markdown.hpp"
#include "harness/report/repeat.hpp"
#include "harness/run/exit_code.hpp"

namespace assay::report {
namespace {

using judge::Gate;
using results::Drifted;
using results::ResultRow;

/// A comment may hold some 65,000 characters; of long lists the rest is counted.
constexpr std::size_t kShownCauses = 20, kShownLines = 50;

bool is_red(const ResultRow& row) { return run::gate_of(row) == Gate::red; }

std::string key_text(const ResultRow& row) { return fmt::format("`{}` ({})", row.key.case_name, row.key.options); }

std::string outcome(const ResultRow& row) {
  return row.facet.empty() ? row.verdict : fmt::format("{} {}/{}", row.verdict, row.stage, row.facet);
}

std::string html_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return escaped;
}

std::string causes_section(const std::vector<ResultRow>& rows, const std::string& command) {
  std::string text;
  const std::vector<Cause> causes = causes_of(rows, judge::Gate::red);
  for (std::size_t i = 0; i < causes.size() && i < kShownCauses; ++i) {
    const Cause& cause = causes[i];
    const ResultRow& smallest = *cause.smallest;
    text += fmt::format(
        "<details><summary><b>{}×</b> {} {}, for example <code>{}</code> ({})</summary>\n\n{}\n</details>\n",
        cause.rows.size(), smallest.verdict, html_escaped(cause.what), html_escaped(smallest.key.case_name),
        html_escaped(smallest.key.options),
        fenced(with_short_figures(smallest.reason) + "\nreproduce: " + repeat_command(smallest, run_words(command))));
  }
  if (causes.size() > kShownCauses)
    text += "\n… and " + core::counted(causes.size() - kShownCauses, "more cause") + "\n";
  return text;
}

std::string list(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < kShownLines; ++i) text += "- " + lines[i] + "\n";
  if (lines.size() > kShownLines) text += fmt::format("- … and {} more\n", lines.size() - kShownLines);
  return text;
}

std::string folded(const std::string& title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", title, body);
}

std::string details(const Drifted& each) {
  std::vector<std::string> words;
  for (const results::Change& change : each.changes) {
    words.push_back(std::string(results::change_name(change.kind)) + " " + change.detail);
  }
  return core::join(words, "; ");
}

using Series = std::tuple<std::string, std::string, std::string>;
Series series_of(const ResultRow& row) { return {row.key.case_name, row.key.options, row.key.converter}; }

struct Changed {
  std::vector<ResultRow> newly_red, new_and_red;
  std::vector<std::string> mended, moved;
  std::size_t new_verdicts = 0;

  /// Whether the difference is one of colour, which is kept.
  bool keep_colour(const ResultRow& before, const ResultRow& now) {
    if (is_red(now) == is_red(before)) return false;
    if (is_red(now)) {
      newly_red.push_back(now);
    } else {
      mended.push_back(fmt::format("{}: {} → {}", key_text(now), outcome(before), outcome(now)));
    }
    return true;
  }
};

Changed changed(const Comparison& comparison, const results::DriftReport& drift) {
  Changed changed;
  for (const Drifted& each : drift.drifted) {
    if (!changed.keep_colour(each.anchor.result, each.now)) {
      changed.moved.push_back(fmt::format("{}: {}", key_text(each.now), escaped(details(each))));
    }
  }
  std::map<Series, const ResultRow*> before;
  for (const results::AnchorRow& anchor : comparison.anchors) before.emplace(series_of(anchor.result), &anchor.result);
  for (const ResultRow& row : comparison.rows) {
    const auto found = before.find(series_of(row));
    if (found == before.end()) {
      ++changed.new_verdicts;
      if (is_red(row)) changed.new_and_red.push_back(row);
    } else if (!results::comparable(row) || found->second->case_hash != row.case_hash) {
      // Drift compares neither our own faults nor a case that was edited; what is red must be seen all the same.
      changed.keep_colour(*found->second, row);
    }
  }
  return changed;
}

/// What a job that ends with these verdicts' exit code shows of itself: a tick where that is 0.
std::string_view mark_of(const Comparison& comparison, const results::DriftReport& drift, bool newly_red) {
  if (newly_red) return "❌";
  run::RunReport report;
  report.planned = comparison.rows.size();
  report.rows = comparison.rows;
  report.drift = drift;
  return run::exit_code(report) == static_cast<int>(run::ExitCode::ok) ? "✅" : "⚠️";
}

}  // namespace

std::string changes_page(const Comparison& comparison, const std::string& command) {
  const results::DriftReport drift = results::compare_to_anchors(comparison.anchors, comparison.rows);
  const Changed found = changed(comparison, drift);
  const std::size_t red = found.newly_red.size() + found.new_and_red.size();
  std::vector<std::string> counts;
  if (red > 0) counts.push_back(core::counted(red, "newly red verdict"));
  if (!found.mended.empty()) counts.push_back(fmt::format("{} no longer red", found.mended.size()));
  if (!found.moved.empty()) counts.push_back(fmt::format("{} moved", found.moved.size()));
  const std::string headline = counts.empty() ? "nothing changed" : core::join(counts, ", ");
  std::string page = fmt::format("### {} Assay: {}\n\n{} against {}: {} compared, {} unchanged",
                                 mark_of(comparison, drift, red > 0), headline, comparison.now, comparison.against,
                                 core::counted(drift.compared, "verdict"), drift.compared - drift.drifted.size());
  if (found.new_verdicts > 0) page += fmt::format(", {} new", found.new_verdicts);
  if (drift.edited > 0) {
    page += fmt::format(", {} of cases that were edited since and not compared", drift.edited);
  }
  if (drift.unmet > 0) page += fmt::format(", {} recorded there that this run does not have", drift.unmet);
  page += ".\n";
  if (!found.newly_red.empty()) page += "\n**Red now, and not before**\n\n" + causes_section(found.newly_red, command);
  if (!found.new_and_red.empty()) page += "\n**New and red**\n\n" + causes_section(found.new_and_red, command);
  if (!found.mended.empty()) page += "\n**No longer red**\n\n" + list(found.mended);
  page += folded(core::counted(found.moved.size(), "other verdict that moved", "other verdicts that moved"),
                 list(found.moved));
  return page;
}

}  // namespace assay::report
