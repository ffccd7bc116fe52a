#pragma once

#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/run/runner.hpp"

namespace assay::cli {

/// What the words after `assay run` and `assay list` select.
struct Selection {
  std::vector<run::RunItem> items;                         ///< stable order, each case once
  std::vector<std::string> converters;                     ///< of the named suites
  std::vector<corpus::ExpectedFailure> expected_failures;  ///< of the named suites
  std::string text;                                        ///< the words, for the record
};

/// Each word is a suite's name or a pattern on case names (`*`, `?`; a family's name stands for all of it). No word:
/// suite `default`. Cases that patterns select run under the option sets of `default`; `options`, when given, keeps
/// only the option set of that label, or stands for itself when it is JSON.
/// Errors   usage, for a word that matches nothing, with the nearest names; invalid_case.
[[nodiscard]] core::Result<Selection> select(const std::vector<std::string>& words, const std::string& options);

}  // namespace assay::cli
