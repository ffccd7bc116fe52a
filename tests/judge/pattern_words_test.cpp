#include "harness/judge/facets/pattern_words.hpp"

#include <gtest/gtest.h>

namespace assay::judge {
namespace {

TEST(PatternWords, SaysWhatATextHasToHold) {
  EXPECT_EQ(pattern_words("stale"), "\"stale\"");
  EXPECT_EQ(pattern_words("\\bx\\b"), "\"x\"");
  EXPECT_EQ(pattern_words("\"x\""), "\"x\"") << "a name in quotes";
  EXPECT_EQ(pattern_words("my\\.dom"), "\"my.dom\"");
  EXPECT_EQ(pattern_words("\\b(img|gain)\\b[^]*\\b2\\b"), "one of \"img\", \"gain\", and behind it \"2\"");
  EXPECT_EQ(pattern_words("float|while running Conv"), "one of \"float\", \"while running Conv\"");
}

TEST(PatternWords, ShowsAsItIsWhatIsMoreThanWords) {
  for (const std::string pattern : {"a+", "[ab]", "x\\d", "(a|b)c", "a(b", ".*", "(a.*b)"}) {
    EXPECT_EQ(pattern_words(pattern), "what the regular expression /" + pattern + "/ matches");
  }
}

}  // namespace
}  // namespace assay::judge
