#pragma once

#include <string>

#include "harness/run/runner.hpp"

namespace assay::report {

/// What `--json` prints of a run, as one line.
[[nodiscard]] std::string run_json(const run::RunReport& report);

/// What `check` and `audit` say of their one model, with `repeat` as the command that shows it again, and the `graph`
/// where findings may follow from one another. `further` stands before these, and behind the rest of a green verdict.
[[nodiscard]] std::string judged_model_text(const run::RunReport& report, const std::string& repeat,
                                            const model::Graph* graph = nullptr, const std::string& further = "");

/// What is `unsupported` and why, a line for each reason up to its first colon with its count; empty where nothing is.
[[nodiscard]] std::string unsupported_text(const run::RunReport& report);

/// What was changed before conversions, a line for each with its count; empty where nothing was.
[[nodiscard]] std::string changed_text(const run::RunReport& report);

/// The converters' programs that ended by themselves, or spoke unasked, after one conversion and before another, a line
/// for each; "" where none did.
[[nodiscard]] std::string restarts_text(const run::RunReport& report);

/// The programs of a run that share a name and version, and those that are others than earlier runs recorded under
/// theirs; "" where there is neither.
[[nodiscard]] std::string programs_text(const run::RunReport& report);

/// "520 planned: 518 pass, 2 fail; 2 red of 1 cause": counts, and what else decides the exit code.
[[nodiscard]] std::string counts_line(const run::RunReport& report);

}  // namespace assay::report
