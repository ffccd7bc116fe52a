#include "harness/core/text.hpp"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

TEST(AnyGlobMatch, TakesOneOfSeveralPatternsAndNoneThatIsMeantNot) {
  EXPECT_TRUE(any_glob_match("a* b", "b"));
  EXPECT_TRUE(any_glob_match(" a*  b ", "ab"));
  EXPECT_FALSE(any_glob_match("a* b", "c"));
  EXPECT_FALSE(any_glob_match("a* !ab", "ab"));
  EXPECT_FALSE(any_glob_match("!ab a*", "ab"));
  EXPECT_TRUE(any_glob_match("a* !ab", "ac"));
}

TEST(AnyGlobMatch, MeansEverythingElseWhereNothingElseIsSaid) {
  EXPECT_TRUE(any_glob_match("", "anything"));
  EXPECT_TRUE(any_glob_match("!a !b", "c"));
  EXPECT_FALSE(any_glob_match("!a !b", "b"));
  EXPECT_TRUE(any_glob_match("", ""));
}

}  // namespace
}  // namespace assay::core
