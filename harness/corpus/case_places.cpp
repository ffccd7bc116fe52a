#include "harness/corpus/case_places.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"
#include "harness/corpus/json_files.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::corpus {
namespace fs = std::filesystem;
namespace {

/// Strings of a JSON text with their line, by what they are: a key, or the value of one. The text is taken as valid,
/// as the corpus is that was run; of another text nothing is promised but an end.
class Strings {
 public:
  explicit Strings(std::string_view text) : text_(text) {}

  /// Calls `key(path, line)` for each key, `path` with the keys around it and itself at the end, and
  /// `value(path, text, line)` for each string behind a key.
  template <typename OnKey, typename OnValue>
  void walk(OnKey key, OnValue value) {
    std::vector<std::string> path;
    std::vector<bool> is_object;
    bool behind_colon = false;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\n') ++line_;
      if (c == '{' || c == '[') {
        is_object.push_back(c == '{');
        path.emplace_back();
        behind_colon = false;
      } else if ((c == '}' || c == ']') && !path.empty()) {
        is_object.pop_back();
        path.pop_back();
      } else if (c == ':') {
        behind_colon = true;
      } else if (c == ',') {
        behind_colon = false;
      } else if (c == '"') {
        const std::string word = string_at(i);
        if (path.empty()) continue;
        if (behind_colon || !is_object.back()) {
          value(path, word, line_);
        } else {
          path.back() = word;
          key(path, line_);
        }
      }
    }
  }

 private:
  /// The string that begins at `i`, which ends on its last quote. Escapes stay as they are written.
  std::string string_at(std::size_t& i) {
    const std::size_t begin = ++i;
    while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? 2U : 1U;
    return std::string(text_.substr(begin, std::min(i, text_.size()) - begin));
  }

  std::string_view text_;
  std::size_t line_ = 1;
};

}  // namespace

CasePlaces CasePlaces::read(const fs::path& root, const std::vector<std::string>& own) {
  std::error_code code;
  std::vector<fs::path> files;
  for (const std::string& path : own) {
    if (fs::is_directory(path, code)) {
      std::ranges::move(json_files(path), std::back_inserter(files));
    } else {
      files.emplace_back(path);
    }
  }
  std::ranges::move(json_files(home() / "cases"), std::back_inserter(files));
  CasePlaces places;
  const fs::path base = fs::weakly_canonical(root, code);
  for (const fs::path& file : files) {
    const core::Result<std::string> text = core::read_file(file);
    if (!text) continue;
    const fs::path whole = fs::weakly_canonical(file, code);
    places.add((core::is_below(whole, base) ? whole.lexically_relative(base) : whole).generic_string(), *text);
  }
  return places;
}

void CasePlaces::add(const std::string& file, std::string_view json) {
  std::string name;
  Family family{{file, 1}, {}};
  Strings(json).walk(
      [&](const std::vector<std::string>& path, std::size_t line) {
        if (path.size() == 2 && path.front() == "forms") family.forms.emplace(path.back(), line);
      },
      [&](const std::vector<std::string>& path, const std::string& value, std::size_t line) {
        if (path.size() == 1 && path.front() == "family") {
          name = value;
          family.place.line = line;
        }
      });
  if (!name.empty()) families_.emplace(name, std::move(family));
}

std::optional<CasePlace> CasePlaces::of(const std::string& case_name) const {
  const std::size_t slash = case_name.find('/');
  const auto family = families_.find(case_name.substr(0, slash));
  if (family == families_.end()) return std::nullopt;
  CasePlace place = family->second.place;
  constexpr std::string_view kForm = "form=";
  if (slash != std::string::npos && case_name.compare(slash + 1, kForm.size(), kForm) == 0) {
    const std::size_t begin = slash + 1 + kForm.size();
    const auto form = family->second.forms.find(case_name.substr(begin, case_name.find(',', begin) - begin));
    if (form != family->second.forms.end()) place.line = form->second;
  }
  return place;
}

}  // namespace assay::corpus
