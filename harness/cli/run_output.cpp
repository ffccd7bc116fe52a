#include "harness/cli/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/report/causes.hpp"
#include "harness/report/drift.hpp"
#include "harness/report/figures.hpp"
#include "harness/report/run_report.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"
#include "results/cause.hpp"

namespace assay::cli {
namespace {

using judge::Gate;
using report::Cause;
using results::ResultRow;

/// Runs of so few verdicts show each, with where it loses accuracy.
constexpr std::size_t kFewVerdicts = 12;
/// Of more causes the rest is a line each.
constexpr std::size_t kCausesInFull = 12;
/// Red verdicts that are shown as they come, of one cause and in all; the end of a run counts each by its cause.
constexpr std::size_t kShownOfACause = 3, kShownRed = 24;

std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() <= kShown) return core::join(shown, ", ");
  const std::size_t more = shown.size() - kShown;
  shown.resize(kShown);
  return fmt::format("{} and {} more", core::join(shown, ", "), more);
}

/// "96× fail, artifact/count, in 32 cases of deconv_output, dynamic_shape".
std::string cause_line(const Cause& cause) {
  std::set<std::string> verdicts, cases, families;
  for (const ResultRow* row : cause.rows) {
    verdicts.insert(row->verdict);
    cases.insert(row->key.case_name);
    families.insert(row->family);
  }
  return core::visible_line(fmt::format("{}× {}, {}, in {} of {}", cause.rows.size(), listed(verdicts), cause.what,
                                        core::counted(cases.size(), "case"), listed(families)));
}

bool is_shared(const std::vector<run::RunProgram>& programs, const results::JobKey& key) {
  return std::ranges::count_if(programs, [&](const run::RunProgram& each) {
           return each.name == key.converter && each.version == key.version;
         }) > 1;
}

}  // namespace

std::string judged_programs(const std::vector<run::RunProgram>& programs) {
  std::vector<std::string> names;
  for (const run::RunProgram& program : programs) {
    std::string name = program.name + (program.version.empty() ? "" : " " + program.version);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  if (names.size() < 2) return core::join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return core::join(names, ", ") + " and " + last;
}

std::string judged_line(const std::string& artifact, const run::RunReport& report, const std::string& data) {
  return (artifact.empty() ? judged_programs(report.programs) : "artifact " + artifact) + "; " + data;
}

void RunOutput::begin(const std::vector<run::RunProgram>& programs, std::size_t planned) {
  programs_ = programs;
  planned_ = planned;
  if (words_.detail == Detail::last_line) return;
  const std::string changed = words_.changed_by.empty() ? "" : " with " + words_.changed_by;
  const std::string judged = words_.judged.empty() ? judged_programs(programs) : words_.judged;
  print("{}{}: {}; {}\n", out_.bold(judged), changed, words_.selection, words_.data);
  std::fflush(stdout);
  for (const run::RunProgram& program : programs) {
    for (const std::string& note : program.notes) {
      print(stderr, "assay: converter {} {}: {}\n", program.name, program.version, note);
    }
  }
}

bool RunOutput::shows(const ResultRow& row) {
  if (words_.detail == Detail::last_line) return false;
  if (words_.detail == Detail::everything || planned_ <= kFewVerdicts) return true;
  if (run::gate_of(row) != Gate::red) return false;
  const bool shown = ++of_cause_[results::cause_of(row)] <= kShownOfACause && shown_red_ < kShownRed;
  ++(shown ? shown_red_ : left_out_);
  return shown;
}

void RunOutput::print_verdict(const ResultRow& row) const {
  const std::string program = is_shared(programs_, row.key) ? "  program " + programs::short_hash(row.key.hash) : "";
  std::string line = report::verdict_line(row, words_.set_by_case(row)) + program;
  // Of few verdicts each is shown in full below.
  if (planned_ > kFewVerdicts && row.verdict != judge::verdict_name(judge::Verdict::pass) && !row.reason.empty()) {
    line += "  " + report::with_short_figures(row.reason.substr(0, row.reason.find('\n')));
  }
  line = out_.cut(line);
  // The verdict is the line's first word.
  const std::size_t word = std::min(row.verdict.size(), line.size());
  print("{}{}\n", out_.painted(line.substr(0, word), run::gate_of(row)), line.substr(word));
  if (planned_ <= kFewVerdicts) print("{}", report::losses_text(row));
}

void RunOutput::verdict(const ResultRow& row, std::size_t done, std::size_t planned) {
  if (out_.live && shows(row)) {
    progress_.clear();
    std::fflush(stderr);
    print_verdict(row);
    std::fflush(stdout);
  }
  if (done < planned) {
    progress_.step(done, planned, row.key.case_name);
  } else {
    progress_.clear();
  }
}

void RunOutput::print_causes(const run::RunReport& report) const {
  // What is red comes first, whatever is more.
  std::vector<Cause> causes = report::causes_of(report.rows, Gate::red);
  std::ranges::move(report::causes_of(report.rows, Gate::amber), std::back_inserter(causes));
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Cause& cause = causes[i];
    const auto gate = run::gate_of(*cause.smallest);
    if (i >= kCausesInFull) {
      print("{}{}, for example {}\n", i == kCausesInFull ? "\n" : "", out_.painted(cause_line(cause), gate),
            cause.smallest->key.case_name);
      continue;
    }
    if (cause.rows.size() > 1) {
      print("\n{}; the smallest:\n", out_.painted(cause_line(cause), gate));
    } else {
      print("\n");
    }
    const std::string repeat = words_.repeat(report, *cause.smallest);
    print("{}", here(i == 0 || words_.detail == Detail::everything
                         ? report::failure_text(*cause.smallest, repeat, words_.graph(*cause.smallest))
                         : report::brief_failure_text(*cause.smallest, repeat)));
  }
}

/// Nothing where the database has no anchors of these cases.
void RunOutput::print_drift(const run::RunReport& report) const {
  const results::DriftReport& drift = report.drift;
  if (drift.compared == 0) {
    return;
  }
  print("{}{}", report::drifted_text(drift), report::suites_text(drift));
  print("{} an anchor: {} changed\n", core::counted(drift.compared, "verdict has", "verdicts have"),
        drift.drifted.size());
  if (drift.any()) {
    print("accept: {} --run {}{} --reason TEXT\n", here("./assay accept"), report.run, words_.database);
  }
}

void RunOutput::end(const run::RunReport& report) {
  progress_.clear();
  std::fflush(stderr);
  if (words_.detail != Detail::last_line) {
    if (!out_.live) {
      for (const ResultRow& row : report.rows) {
        if (shows(row)) print_verdict(row);
      }
    }
    if (left_out_ > 0) {
      print("… and {}, counted below by cause; -v shows each\n", core::counted(left_out_, "more red verdict"));
    }
    print_causes(report);
    for (const std::string& line : report.unused_expectations) {
      print("{}\n", line);
    }
    print_drift(report);
    print("{}{}{}{}", report::restarts_text(report), report::programs_text(report), report::changed_text(report),
          here(report::unsupported_text(report)));
  }
  print("{}\n", out_.bold(report::counts_line(report)));
}

}  // namespace assay::cli
