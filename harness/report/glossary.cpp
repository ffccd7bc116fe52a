#include "harness/report/glossary.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "harness/core/files.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::report {
namespace {

constexpr std::string_view kHeading = "## ";

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// "[text](address)" → "text".
std::string without_addresses(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t close = text[i] == '[' ? text.find("](", i) : std::string::npos;
    const std::size_t end = close == std::string::npos ? close : text.find(')', close);
    if (end == std::string::npos || text.find('\n', i) < close) {
      plain += text[i++];
    } else {
      plain += text.substr(i + 1, close - i - 1);
      i = end + 1;
    }
  }
  return plain;
}

/// As words are compared: a head such as "SQNR dB" without its unit.
std::string folded(const std::string& word) {
  std::string key;
  for (const char c : trimmed(word.substr(0, word.find(" (")))) {
    if (c == '`') continue;
    key += c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view unit : {", db", " db"}) {
    if (key.ends_with(unit)) return key.substr(0, key.size() - unit.size());
  }
  return key;
}

/// "inputs 2" → "inputs n", as an entry names all that are numbered; what has no number behind it stays.
std::string with_open_number(std::string key) {
  const std::size_t last = key.find_last_not_of("0123456789");
  if (last == std::string::npos || last + 1 == key.size() || key[last] != ' ') return key;
  return key.substr(0, last + 1) + "n";
}

}  // namespace

Glossary::Glossary(const std::string& page) {
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHeading)) {
      entries_.push_back({trimmed(line.substr(kHeading.size())), ""});
      std::erase(entries_.back().word, '`');
      inside = true;
    } else if (line.starts_with("# ")) {
      inside = false;
    } else if (inside) {
      entries_.back().text += line + "\n";
    }
  }
  for (GlossaryEntry& entry : entries_) entry.text = trimmed(without_addresses(entry.text));
}

core::Result<Glossary> Glossary::read() {
  const core::Result<std::string> page = core::read_file(corpus::home() / "docs" / "glossary.md");
  if (!page) return page.error();
  return Glossary(*page);
}

std::optional<GlossaryEntry> Glossary::explained(const std::string& word) const {
  if (const GlossaryEntry* entry = find(word)) return *entry;
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const GlossaryEntry *stage = find(word.substr(0, slash)), *facet = find(word.substr(slash + 1));
  if (stage == nullptr || facet == nullptr) return std::nullopt;
  return GlossaryEntry{word, stage->word + "\n" + stage->text + "\n\n" + facet->word + "\n" + facet->text};
}

const GlossaryEntry* Glossary::find(const std::string& word) const {
  const std::string exact = folded(word);
  for (const std::string& wanted : {exact, with_open_number(exact)}) {
    const auto is_it = [&](const GlossaryEntry& entry) {
      if (folded(entry.word) == wanted) return true;
      std::istringstream words(entry.word);
      for (std::string each; std::getline(words, each, ',');) {
        if (folded(each) == wanted) return true;
      }
      return false;
    };
    const auto found = std::ranges::find_if(entries_, is_it);
    if (found != entries_.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string> Glossary::words() const {
  std::vector<std::string> words;
  words.reserve(entries_.size());
  for (const GlossaryEntry& entry : entries_) words.push_back(entry.word);
  return words;
}

}  // namespace assay::report
