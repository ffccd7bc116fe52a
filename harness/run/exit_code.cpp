#include "harness/run/exit_code.hpp"

#include <algorithm>
#include <array>

namespace assay::run {

using judge::Gate;
using judge::Verdict;

std::optional<Gate> gate_of(const results::ResultRow& row) {
  constexpr std::array kGates{Gate::green, Gate::amber, Gate::red, Gate::neutral};
  const auto* gate = std::ranges::find(kGates, row.gate, judge::gate_name);
  return gate == kGates.end() ? std::nullopt : std::optional(*gate);
}

const results::AttemptRow* end_after_another(const results::ResultRow& row) {
  const auto crashed = [](const results::AttemptRow& attempt) {
    return attempt.request != "describe" && attempt.outcome == "crash";
  };
  if (row.attempts.empty() || crashed(row.attempts.back())) return nullptr;
  const auto found = std::ranges::find_if(row.attempts, crashed);
  return found == row.attempts.end() ? nullptr : &*found;
}

void ExitTally::add(const results::ResultRow& row) {
  const std::optional<Verdict> verdict = judge::parse_verdict(row.verdict);
  const std::optional<Gate> gate = gate_of(row);
  own_fault_ = own_fault_ || !verdict || !gate || verdict == Verdict::harness_error;
  invalid_case_ = invalid_case_ || verdict == Verdict::invalid_case;
  not_run_ = not_run_ || verdict == Verdict::not_run;
  red_ = red_ || gate == Gate::red || end_after_another(row) != nullptr;
  if (rows_++ == 0) case_ = row.key.case_name;
  one_unsupported_case_ = one_unsupported_case_ && verdict == Verdict::unsupported && row.key.case_name == case_;
}

ExitCode ExitTally::code(std::size_t planned, bool unused_expectations, bool drifted) const {
  if (own_fault_) return ExitCode::own_fault;
  if (invalid_case_) return ExitCode::usage;
  if (rows_ != planned || rows_ == 0 || not_run_) return ExitCode::incomplete;
  if (red_) return ExitCode::red;
  if (unused_expectations) return ExitCode::unused_expectation;
  if (drifted) return ExitCode::drift;
  return one_unsupported_case_ ? ExitCode::skip : ExitCode::ok;
}

int exit_code(const RunReport& report) {
  ExitTally tally;
  for (const results::ResultRow& row : report.rows) tally.add(row);
  return static_cast<int>(tally.code(report.planned, !report.unused_expectations.empty(), report.drift.any()));
}

}  // namespace assay::run
