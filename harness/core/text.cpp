#include "harness/core/text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace assay::core {
namespace {

template <typename Float>
std::string shortest_text(Float value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

/// Edits that make a word of another's beginning, and of the whole.
using Edits = std::pair<std::size_t, std::size_t>;

Edits edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return {*std::ranges::min_element(row), row[b.size()]};
}

}  // namespace

std::string exact_text(float value) { return shortest_text(value); }
std::string exact_text64(double value) { return shortest_text(value); }

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? std::string{} : std::string(separator)) + parts[i];
  }
  return text;
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> choices, std::size_t limit) {
  constexpr std::size_t kLongest = 200;  // beyond, two words are no misspellings of each other
  word = word.substr(0, kLongest);
  std::vector<std::pair<Edits, std::string>> ranked;
  ranked.reserve(choices.size());
  for (const std::string& choice : choices) {
    ranked.emplace_back(edit_distance(word, std::string_view(choice).substr(0, kLongest)), choice);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(limit, ranked.size()); ++i) {
    result.push_back(std::move(ranked[i].second));
  }
  return result;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

namespace {

/// `matches` of the patterns between blanks.
template <typename Matches>
bool any_of_patterns(std::string_view patterns, const Matches& matches) {
  bool positive = false, any = false;
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(' '), patterns.size());
    const std::string_view pattern = patterns.substr(0, end);
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
    if (pattern.empty()) continue;
    if (pattern.starts_with('!')) {
      if (matches(pattern.substr(1))) return false;
      continue;
    }
    positive = true;
    any = any || matches(pattern);
  }
  return any || !positive;
}

}  // namespace

bool any_glob_match(std::string_view patterns, std::string_view text) {
  return any_of_patterns(patterns, [&](std::string_view pattern) { return glob_match(pattern, text); });
}

bool any_glob_match(std::string_view patterns, std::span<const std::string> texts) {
  return any_of_patterns(patterns, [&](std::string_view pattern) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return glob_match(pattern, text); });
  });
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) {
    text += fmt::format("{:02x}", digest[i]);
  }
  return text;
}

}  // namespace assay::core
