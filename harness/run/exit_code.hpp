#pragma once

#include <optional>

#include "harness/judge/evidence/verdict.hpp"
#include "harness/run/runner.hpp"

namespace assay::run {

/// What the program ends with.
enum class ExitCode : int {
  ok = 0,
  red = 1,        ///< a red verdict, or a program that ended by itself after one conversion and before another
  usage = 2,      ///< a wrong command line, a case that can't be used
  own_fault = 3,  ///< Assay itself failed
  drift = 4,
  incomplete = 5,          ///< verdicts are missing
  unused_expectation = 6,  ///< an expected failure that no verdict met
  skip = 77,               ///< one case, all verdicts `unsupported`; CTest counts it as skipped
};

/// The gate of a recorded verdict; nothing where the text names none.
[[nodiscard]] std::optional<judge::Gate> gate_of(const results::ResultRow& row);

/// The try that found the converter's program ended, or speaking unasked, after another conversion: no fault of this
/// one, which a fresh process was asked for and didn't fail at. Null where there is none.
[[nodiscard]] const results::AttemptRow* end_after_another(const results::ResultRow& row);

/// Of a finished run: the first that fits of own_fault, usage, incomplete, red, unused_expectation, drift and skip.
[[nodiscard]] int exit_code(const RunReport& report);

}  // namespace assay::run
