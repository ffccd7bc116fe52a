#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::corpus {

/// Where a case is written.
struct CasePlace {
  std::string file;      ///< relative to the root where it lies below that, else absolute; with slashes
  std::size_t line = 1;  ///< of its form, else of its family's name; the first line is 1
  friend bool operator==(const CasePlace&, const CasePlace&) = default;
};

/// Where the families of cases and their forms are written. Nothing is expanded, so that this costs little.
class CasePlaces {
 public:
  /// Of the files and folders `own` and of all files below home()'s cases/, in this order; what can't be read is left
  /// out. `root` is what SARIF calls the source root: the folder that a job has checked out.
  [[nodiscard]] static CasePlaces read(const std::filesystem::path& root, const std::vector<std::string>& own = {});
  /// Adds the families in the text of one file.
  void add(const std::string& file, std::string_view json);
  /// Of "family/form=x,…"; nothing where no file holds its family.
  [[nodiscard]] std::optional<CasePlace> of(const std::string& case_name) const;

 private:
  struct Family {
    CasePlace place;
    std::map<std::string, std::size_t> forms;  ///< name → line
  };
  std::map<std::string, Family> families_;
};

}  // namespace assay::corpus
