#pragma once

#include <cstddef>
#include <optional>
#include <string>

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

/// What verdicts mean for the exit code, one after the other: of so many that they can't be kept.
class ExitTally {
 public:
  void add(const results::ResultRow& row);
  /// The first that fits of own_fault, usage, incomplete, red, unused_expectation, drift and skip.
  [[nodiscard]] ExitCode code(std::size_t planned, bool unused_expectations, bool drifted) const;

 private:
  bool own_fault_ = false, invalid_case_ = false, not_run_ = false, red_ = false, one_unsupported_case_ = true;
  std::size_t rows_ = 0;
  std::string case_;
};

/// Of a finished run.
[[nodiscard]] int exit_code(const RunReport& report);

}  // namespace assay::run
