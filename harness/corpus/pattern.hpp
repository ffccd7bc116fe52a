#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/core/result.hpp"

namespace re2 {
class RE2;
}  // namespace re2

namespace assay::corpus {

/// A regular expression of a case or suite, in RE2's syntax, searched in texts that a converter wrote: the time is
/// linear in the text, the stack doesn't grow with it. Bytes are compared, so that any text can be searched.
class Pattern {
 public:
  enum class Letters { exact, any_case };
  /// Errors   invalid_case: what is wrong with `text`.
  [[nodiscard]] static core::Result<Pattern> parse(const std::string& text, Letters letters = Letters::exact);
  [[nodiscard]] bool found_in(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> expression) : expression_(std::move(expression)) {}
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace assay::corpus
