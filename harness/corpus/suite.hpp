#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"

namespace assay::corpus {

struct OptionSet {
  std::string label;  ///< options_label(options) unless the suite names it
  std::string options_json;
};

struct ExpectedFailure {
  std::string case_pattern, options, converter, versions, stage, facet, reason, url, until;
  std::string machine;  ///< patterns on its instructions and accelerators; "": any
  std::optional<double> margin;
  std::string family;  ///< of the file of cases that states it; "": a suite does
};

struct Suite {
  std::string name;
  std::filesystem::path folder;     ///< of its file
  std::vector<std::string> select;  ///< name patterns, and paths from `folder` of files and folders of cases
  std::vector<std::string> tags;    ///< any of these, when not empty
  std::vector<std::string> exclude;
  std::vector<std::string> converters;
  std::vector<OptionSet> option_sets;  ///< at least one
  std::vector<ExpectedFailure> expected_failures;
};

/// Where cases/ and suites/ lie: ASSAY_HOME when set, else beside the program's source tree.
[[nodiscard]] std::filesystem::path home();

[[nodiscard]] core::Result<Suite> load_suite(const std::string& name);
/// The suite that a file's text states; it lies nowhere.
[[nodiscard]] core::Result<Suite> parse_suite(const std::string& name, const std::string& text);
[[nodiscard]] std::vector<std::string> suite_names();
/// All cases below cases/, sorted by name; names twice are an error.
[[nodiscard]] core::Result<std::vector<Case>> load_corpus();
/// The cases of a file, or of all files below a folder that are no suites.
/// Errors   usage, where it holds none; invalid_case.
[[nodiscard]] core::Result<std::vector<Case>> load_path(const std::filesystem::path& path);
/// `own` before `corpus`, whose cases of the same name they stand for: a file of it may be named by its path.
[[nodiscard]] std::vector<Case> in_front_of(std::vector<Case> own, std::vector<Case> corpus);
/// `pattern` means the case: its name, with * and ?, its family, or its file ("cases/found/*").
[[nodiscard]] bool matches(const Case& test_case, const std::string& pattern);
/// The suite's cases in stable order. Stored cases are for suites of converter `reference`, all others are not.
[[nodiscard]] core::Result<std::vector<Case>> select_cases(const Suite& suite, const std::vector<Case>& corpus);

}  // namespace assay::corpus
