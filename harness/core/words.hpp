#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Enums whose values are words in files, databases and reports. The words of `enum class E` stand beside it, one row
/// for each value in the order of the values, and nowhere else:
///
///     enum class Averaging { none, ema };
///     constexpr auto words(Averaging) { return core::word_table<Averaging>({{Averaging::none, "none"}, …}); }
namespace assay::core {

template <typename E>
struct Word {
  E value;
  std::string_view text;
};

/// A value out of its place, or a word that two values have, does not compile.
template <typename E, std::size_t N>
consteval std::array<Word<E>, N> word_table(const Word<E> (&rows)[N]) {  // NOLINT(modernize-avoid-c-arrays)
  auto table = std::to_array(rows);
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(table[i].value) != i) throw "the rows are not in the order of the values";
    for (std::size_t j = 0; j < i; ++j) {
      if (table[j].text == table[i].text) throw "two values have the same word";
    }
  }
  return table;
}

/// An enum with a table of words, which is found in the enum's namespace.
template <typename E>
concept Worded = std::is_enum_v<E> && requires(E value) { words(value); };

template <Worded E>
[[nodiscard]] constexpr std::string_view word_of(E value) {
  constexpr auto kTable = words(E{});
  const auto index = static_cast<std::size_t>(value);
  return index < kTable.size() ? kTable[index].text : "?";
}

/// Nothing has no word: the empty text.
template <Worded E>
[[nodiscard]] constexpr std::string_view word_of(const std::optional<E>& value) {
  return value ? word_of(*value) : std::string_view();
}

/// The value called `text`; nothing where none is.
template <Worded E>
[[nodiscard]] constexpr std::optional<E> find_word(std::string_view text) {
  for (const Word<E>& row : words(E{})) {
    if (row.text == text) return row.value;
  }
  return std::nullopt;
}

/// All words in the order of the values, for messages.
template <Worded E>
[[nodiscard]] std::vector<std::string> all_words() {
  std::vector<std::string> all;
  for (const Word<E>& row : words(E{})) all.emplace_back(row.text);
  return all;
}

}  // namespace assay::core
