#include "harness/run/exit_code.hpp"

#include <algorithm>
#include <array>

namespace assay::run {
namespace {

using judge::Gate;
using judge::Verdict;

bool is_one_unsupported_case(const RunReport& report) {
  return std::ranges::all_of(report.rows, [&](const auto& row) {
    return row.key.case_name == report.rows.front().key.case_name &&
           judge::parse_verdict(row.verdict) == Verdict::unsupported;
  });
}

ExitCode code_of(const RunReport& report) {
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(report.rows,
                               [&](const auto& row) { return judge::parse_verdict(row.verdict) == verdict; });
  };
  const bool unreadable = std::ranges::any_of(
      report.rows, [](const auto& row) { return !judge::parse_verdict(row.verdict) || !gate_of(row); });
  if (unreadable || any(Verdict::harness_error)) return ExitCode::own_fault;
  if (any(Verdict::invalid_case)) return ExitCode::usage;
  if (report.rows.size() != report.planned || report.rows.empty() || any(Verdict::not_run)) return ExitCode::incomplete;
  if (std::ranges::any_of(report.rows, [](const auto& row) {
        return gate_of(row) == Gate::red || end_after_another(row) != nullptr;
      })) {
    return ExitCode::red;
  }
  if (!report.unused_expectations.empty()) return ExitCode::unused_expectation;
  if (report.drift.any()) return ExitCode::drift;
  if (is_one_unsupported_case(report)) return ExitCode::skip;
  return ExitCode::ok;
}

}  // namespace

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

int exit_code(const RunReport& report) { return static_cast<int>(code_of(report)); }

}  // namespace assay::run
