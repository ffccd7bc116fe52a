#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::report {

/// A word and what it means, in plain text.
struct GlossaryEntry {
  std::string word, text;
};

/// The entries of docs/glossary.md: each "## word" with the text behind it. Of links the address is left out.
class Glossary {
 public:
  explicit Glossary(const std::string& page);
  /// The one below corpus::home(). Errors   io, where there is none.
  [[nodiscard]] static core::Result<Glossary> read();

  /// Whatever the case of its letters, and with blanks, "-" and "_" taken for each other; of "SQNR (dB)" the part
  /// before the bracket will do. A heading of several words with commas between is an entry for each.
  [[nodiscard]] const GlossaryEntry* find(const std::string& word) const;
  /// The entry of a word, or both of a place that a verdict prints, "artifact/weight", as one.
  [[nodiscard]] std::optional<GlossaryEntry> explained(const std::string& word) const;
  [[nodiscard]] std::vector<std::string> words() const;

 private:
  std::vector<GlossaryEntry> entries_;
};

}  // namespace assay::report
