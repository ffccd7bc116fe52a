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
  std::vector<std::string> converters;                     ///< of the named suites, else what runs such cases
  std::vector<corpus::ExpectedFailure> expected_failures;  ///< of the named suites
  std::string text;                                        ///< the words, for the record
  std::string unmatched;                                   ///< the complaint where a word selects nothing
};

/// Each word is a suite's name or a pattern on case names (`*`, `?`; a family's name stands for all of it). No word:
/// suite `default`. Cases that patterns select run under the option sets of `default`; `options`, when given, keeps
/// only the option set of that label, or stands for itself when it is JSON. A file is a
/// suite's, which means that suite; or it, or a folder, holds cases: patterns pick out of them, and where none matches
/// any of them it selects all; those that a suite selects run under the suite's option sets. A word that selects
/// nothing is reported in `unmatched`, with the nearest names. `only`, when not empty, keeps of all these the cases
/// that one of its patterns matches. Errors   usage, for an unknown option set; invalid_case.
[[nodiscard]] core::Result<Selection> select(const std::vector<std::string>& words, const std::string& options,
                                             const std::vector<std::string>& only = {});

/// Whether a word names a float model of the user's, and not a case or a file of cases.
[[nodiscard]] bool is_model_file(const std::string& word);

/// The cases of a file, or of all files below a folder, that a word of a command line names, with their models.
/// Errors   usage, where it holds none; invalid_case.
[[nodiscard]] core::Result<std::vector<corpus::Case>> cases_at(const std::string& path);

/// The faults that the case is to catch are faults of the embedded converter. Errors   usage, naming the nearest.
[[nodiscard]] core::Status check_kills(const corpus::Case& test_case);

/// Whether a word names an existing file or folder of cases that the user has; a suite's name or file is none, nor is
/// the name of a family.
[[nodiscard]] bool is_own_file(const std::string& word);

/// `words`, with a "/" behind each folder that does not look like a path: a recorded command shows what it is.
[[nodiscard]] std::vector<std::string> with_folders_marked(std::vector<std::string> words);

/// Prints why nothing is selected; returns that failure's exit code.
int report_unmatched(const std::string& complaint);

}  // namespace assay::cli
