#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/run/runner.hpp"
#include "results/store.hpp"

namespace assay::cli {

/// `json` in one line. Messages may quote a converter's bytes, which need not be UTF-8.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);

/// The object of DESIGN section 8, as one line of JSON.
[[nodiscard]] std::string report_json(const run::RunReport& report);

/// One verdict in one line: verdict, case, options, converter, layers, SQNR, margin.
[[nodiscard]] std::string verdict_line(const results::ResultRow& row);

/// A verdict that is not green, in full, with the command that repeats it.
[[nodiscard]] std::string failure_text(const results::ResultRow& row, const std::string& repeat_command);

/// The nodes' outputs where most accuracy is lost, a line each; empty where nothing is known.
[[nodiscard]] std::string losses_text(const results::ResultRow& row);

/// The SQNR over all data sets and of the worst, each beside what is predicted; empty where there is none.
[[nodiscard]] std::string headline_text(const results::ResultRow& row);

/// What `check` and `audit` print of their one model, with `repeat` as the command that shows it again. Returns the
/// exit code.
int print_judged_model(const run::RunReport& report, const std::string& repeat);

/// What is `unsupported` and why, a line for each reason up to its first colon with its count; empty where nothing is.
[[nodiscard]] std::string unsupported_text(const run::RunReport& report);

/// The programs of a run that share a name and version, and those that are others than earlier runs recorded under
/// theirs; "" where there is neither.
[[nodiscard]] std::string programs_text(const run::RunReport& report);

/// "520 planned: 518 pass, 2 fail".
[[nodiscard]] std::string counts_line(const run::RunReport& report);

}  // namespace assay::cli
