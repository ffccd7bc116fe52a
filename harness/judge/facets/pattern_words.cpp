#include "harness/judge/facets/pattern_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/core/text.hpp"

namespace assay::judge {
namespace {

/// A pattern without word boundaries and gaps: plain words, in order.
struct Part {
  std::vector<std::string> alternatives{""};
};

/// The parts of `pattern` between gaps; nothing where it has more than that. Alternatives stand in brackets, or are
/// the whole pattern.
std::optional<std::vector<Part>> parts_of(const std::string& pattern) {
  std::vector<Part> parts(1);
  int depth = 0;
  bool bracket_done = false;  // the part was a bracket, behind which only a gap may follow
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = std::string_view(pattern).substr(i);
    std::vector<std::string>& words = parts.back().alternatives;
    if (rest.starts_with("[^]*") || rest.starts_with(".*")) {
      if (depth > 0) return std::nullopt;
      i += rest.starts_with(".*") ? 1U : 3U;
      parts.emplace_back();
      bracket_done = false;
    } else if (rest.starts_with("\\b")) {
      ++i;
    } else if (rest[0] == '(' && depth == 0 && words == std::vector<std::string>{""}) {
      ++depth;
    } else if (rest[0] == ')' && depth == 1) {
      --depth;
      bracket_done = true;
    } else if (rest[0] == '|' && (depth == 1 || parts.size() == 1)) {
      words.emplace_back();
    } else if (bracket_done || std::string_view("()[]{}*+?^$|").find(rest[0]) != std::string_view::npos) {
      return std::nullopt;
    } else if (rest[0] == '\\') {
      if (rest.size() < 2 || std::isalnum(static_cast<unsigned char>(rest[1])) != 0) return std::nullopt;
      words.back() += pattern[++i];
    } else {
      words.back() += rest[0];
    }
  }
  std::erase_if(parts, [](const Part& part) { return part.alternatives == std::vector<std::string>{""}; });
  return depth == 0 && !parts.empty() ? std::optional(std::move(parts)) : std::nullopt;
}

}  // namespace

std::string pattern_words(const std::string& pattern) {
  const std::optional<std::vector<Part>> parts = parts_of(pattern);
  if (!parts) return fmt::format("what the regular expression /{}/ matches", pattern);
  std::vector<std::string> all;
  for (const Part& part : *parts) {
    std::vector<std::string> quoted;
    for (const std::string& word : part.alternatives) quoted.push_back(word[0] == '"' ? word : "\"" + word + "\"");
    const std::string list = core::join(quoted, ", ");
    all.push_back(part.alternatives.size() > 1 ? "one of " + list : list);
  }
  return core::join(all, ", and behind it ");
}

}  // namespace assay::judge
