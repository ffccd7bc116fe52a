#include "harness/core/version.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <vector>

#include "harness/core/text.hpp"

namespace assay::core {
namespace {

/// One part of a version, in the order of comparison: number, released or not, rest.
std::tuple<long, bool, std::string_view> parsed(std::string_view part) {
  long number = 0;
  const auto end = std::from_chars(part.data(), part.data() + part.size(), number).ptr;
  const std::string_view rest = part.substr(static_cast<std::size_t>(end - part.data()));
  const bool letter = !rest.empty() && rest.front() >= 'a' && rest.front() <= 'z';
  return {number, !letter || rest.starts_with("post"), rest};
}

/// The words of `text` between `separator`s, the empty ones left out.
std::vector<std::string_view> words_of(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct Condition {
  std::string_view relation;  ///< "" for a pattern
  std::string_view version;
};

Condition condition_of(std::string_view word) {
  constexpr std::array<std::string_view, 4> kRelations{"<=", ">=", "<", ">"};
  const auto* const relation =
      std::ranges::find_if(kRelations, [&](std::string_view each) { return word.starts_with(each); });
  if (relation == kRelations.end()) return {"", word};
  return {*relation, word.substr(relation->size())};
}

bool holds(const Condition& condition, std::string_view version) {
  if (condition.relation.empty()) return glob_match(std::string(condition.version), std::string(version));
  const bool less = version_less(version, condition.version), more = version_less(condition.version, version);
  if (condition.relation.starts_with('<')) return less || (condition.relation == "<=" && !more);
  return more || (condition.relation == ">=" && !less);
}

}  // namespace

bool version_within(std::string_view ranges, std::string_view version) {
  const std::vector<std::string_view> alternatives = words_of(ranges, ',');
  return alternatives.empty() || std::ranges::any_of(alternatives, [&](std::string_view alternative) {
           return std::ranges::all_of(words_of(alternative, ' '),
                                      [&](std::string_view word) { return holds(condition_of(word), version); });
         });
}

std::string version_ranges_fault(std::string_view ranges) {
  for (const std::string_view alternative : words_of(ranges, ',')) {
    for (const std::string_view word : words_of(alternative, ' ')) {
      const auto [relation, version] = condition_of(word);
      const bool digit = !version.empty() && version.front() >= '0' && version.front() <= '9';
      if (!digit && (!relation.empty() || !version.starts_with('*'))) {
        return "\"" + std::string(word) +
               "\" is neither a pattern on versions (\"1.16.*\") nor a condition (\">=1.15\")";
      }
    }
  }
  return {};
}

bool version_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::size_t a_dot = std::min(a.find('.'), a.size()), b_dot = std::min(b.find('.'), b.size());
    const auto left = parsed(a.substr(0, a_dot)), right = parsed(b.substr(0, b_dot));
    if (left != right) return left < right;
    a.remove_prefix(std::min(a_dot + 1, a.size()));
    b.remove_prefix(std::min(b_dot + 1, b.size()));
  }
  return a.empty() && !b.empty();
}

}  // namespace assay::core
