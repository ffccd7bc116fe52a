#pragma once

#include <string>
#include <vector>

#include "harness/cli/command_line.hpp"
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

/// What of a selection is kept.
struct Narrowing {
  std::vector<std::string> only;  ///< cases that one of these patterns matches
  std::string operators;          ///< "Relu,Add": cases whose model has no other operators

  [[nodiscard]] bool empty() const { return only.empty() && operators.empty(); }
};
/// The options --only and --operators of a command.
void add_narrowing(Command command, Narrowing& narrowing);

/// Each word is a suite's name or a pattern on case names (`*`, `?`; a family's name stands for all of it). No word:
/// suite `default`. Cases that patterns select run under the option sets of `default`; `options`, when given, keeps
/// only the option set of that label, or stands for itself when it is JSON. A file is a
/// suite's, which means that suite; or it, or a folder, holds cases: patterns pick out of them, and where none matches
/// any of them it selects all; those that a suite selects run under the suite's option sets. A word that selects
/// nothing is reported in `unmatched`, with the nearest names. Errors   usage, for an unknown option set; invalid_case.
[[nodiscard]] core::Result<Selection> select(const std::vector<std::string>& words, const std::string& options,
                                             const Narrowing& narrowing = {});

/// The same for what needs a converter's artifacts: without the stored cases, which are the reference's own.
/// Errors   usage too where a word selects nothing, or stored cases alone.
[[nodiscard]] core::Result<Selection> select_converted(const std::vector<std::string>& words,
                                                       const std::string& options);

/// The operators of the case's model and of the bodies in it, sorted, "domain.Type" where the domain isn't ONNX's own.
[[nodiscard]] std::vector<std::string> operators_of(const corpus::Case& test_case);

/// Whether a word names a float model of the user's, and not a case or a file of cases.
[[nodiscard]] bool is_model_file(const std::string& word);

/// The cases of a file, or of all files below a folder, that a word of a command line names, with their models.
/// Errors   usage, where it holds none; invalid_case.
[[nodiscard]] core::Result<std::vector<corpus::Case>> cases_at(const std::string& path);

/// The faults that the case is to catch are faults of the embedded converter, and the shapes and types that it expects
/// of outputs are what the operators' rules give, unless it expects a refusal.
/// Errors   usage, naming the nearest fault; invalid_case, with both shapes.
[[nodiscard]] core::Status check_claims(const corpus::Case& test_case);

/// Whether a word names an existing file or folder of cases that the user has; a suite's name or file is none, nor is
/// the name of a family.
[[nodiscard]] bool is_own_file(const std::string& word);

/// `words`, with a "/" behind each folder that does not look like a path: a recorded command shows what it is.
[[nodiscard]] std::vector<std::string> with_folders_marked(std::vector<std::string> words);

/// Prints why nothing is selected; returns that failure's exit code.
int report_unmatched(const std::string& complaint);

}  // namespace assay::cli
