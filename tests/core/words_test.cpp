#include "harness/core/words.hpp"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

enum class Rounding { nearest, up };
constexpr auto words(Rounding /*of*/) {
  using enum Rounding;
  return word_table<Rounding>({{nearest, "nearest"}, {up, "towards_infinity"}});
}
enum class Wordless { one };

TEST(Words, AreReadBackAsTheValueThatTheyWereWrittenFor) {
  for (const Rounding each : {Rounding::nearest, Rounding::up}) {
    EXPECT_EQ(find_word<Rounding>(word_of(each)), each) << word_of(each);
  }
  EXPECT_EQ(word_of(Rounding::up), "towards_infinity");
}

TEST(Words, AnUnknownOneIsNoValue) {
  EXPECT_EQ(find_word<Rounding>("up"), std::nullopt);
  EXPECT_EQ(find_word<Rounding>(""), std::nullopt);
}

TEST(Words, NothingIsTheEmptyText) {
  EXPECT_EQ(word_of(std::optional<Rounding>()), "");
  EXPECT_EQ(word_of(std::optional(Rounding::nearest)), "nearest");
}

TEST(Words, AreListedInTheOrderOfTheValues) {
  EXPECT_EQ(all_words<Rounding>(), (std::vector<std::string>{"nearest", "towards_infinity"}));
}

TEST(Words, AnEnumWithoutATableHasNone) {
  EXPECT_TRUE(Worded<Rounding>);
  EXPECT_FALSE(Worded<Wordless>);
}

}  // namespace
}  // namespace assay::core
