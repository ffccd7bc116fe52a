#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay::corpus {

/// Where a case is written.
struct CasePlace {
  std::string file;      ///< relative to home(), with slashes
  std::size_t line = 1;  ///< of its form, else of its family's name; the first line is 1
  friend bool operator==(const CasePlace&, const CasePlace&) = default;
};

/// Where the families below cases/ and their forms are written. Nothing is expanded, so that this costs little.
class CasePlaces {
 public:
  /// Of all files below home()'s cases/; what can't be read is left out.
  [[nodiscard]] static CasePlaces read();
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
