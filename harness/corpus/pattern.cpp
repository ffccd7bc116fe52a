#include "harness/corpus/pattern.hpp"

#include <re2/re2.h>

#include <utility>

#include "harness/corpus/case_error.hpp"

namespace assay::corpus {

core::Result<Pattern> Pattern::parse(const std::string& text, Letters letters) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_case_sensitive(letters == Letters::exact);
  options.set_log_errors(false);
  auto expression = std::make_shared<const re2::RE2>(text, options);
  if (!expression->ok()) return case_error("is no regular expression (RE2): " + expression->error());
  return Pattern(std::move(expression));
}

bool Pattern::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

}  // namespace assay::corpus
