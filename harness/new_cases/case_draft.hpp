#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::new_cases {

/// A case that is to become a file of the corpus.
// NOLINTNEXTLINE(bugprone-exception-escape): what moves with it throws nothing
struct CaseDraft {
  std::string name;              ///< of its family and its files
  nlohmann::ordered_json words;  ///< title, origin, tags, options, expect, kills, and inputs other than the usual ones
  std::optional<model::Model> model;
  bool as_file = false;                                 ///< keep the model as a file even where text can say it
  std::optional<data::UserData> data;                   ///< stored beside it; generated from `inputs` without
  std::map<std::string, std::filesystem::path> beside;  ///< further files: what follows the case's name → file
};

/// The files of a draft, complete and read back, away from their place.
class StagedCase {
 public:
  /// Errors   usage, for a name that is none or that the corpus has; invalid_case, where the draft makes no case.
  [[nodiscard]] static core::Result<StagedCase> create(const CaseDraft& draft);

  [[nodiscard]] const corpus::Case& test_case() const { return case_; }
  [[nodiscard]] bool described() const { return described_; }
  /// Copies the files into `folder`, the case's own last; returns that one's place. Where one can't be written, none is
  /// left. Errors   usage, where a file of that name lies there.
  [[nodiscard]] core::Result<std::filesystem::path> commit(const std::filesystem::path& folder) const;

  /// Removes what commit() wrote.
  void withdraw(const std::filesystem::path& folder) const;

 private:
  [[nodiscard]] std::vector<std::filesystem::path> files() const;
  StagedCase(core::TemporaryFolder folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  core::TemporaryFolder folder_;
  std::string name_;
  corpus::Case case_;
  bool described_ = false;
};

/// `text` as a name of a case: letters, digits, - and _.
[[nodiscard]] std::string case_name(const std::string& text);

}  // namespace assay::new_cases
