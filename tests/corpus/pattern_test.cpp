#include "harness/corpus/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::corpus {
namespace {

using testing::HasSubstr;

TEST(Pattern, IsSearchedInLongTexts) {
  const auto pattern = Pattern::parse(R"(\b(img|gain)\b(?s:.*)\bbatch\b)");
  ASSERT_TRUE(pattern);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "img \n";  // std::regex ends the process at a sixth of it
  EXPECT_FALSE(pattern->found_in(text));
  EXPECT_TRUE(pattern->found_in(text + " batch"));
}

TEST(Pattern, ComparesBytesAndLettersOfAnyCaseWhereAsked) {
  EXPECT_TRUE(Pattern::parse("größe")->found_in("die größe \xff"));
  EXPECT_FALSE(Pattern::parse("conv")->found_in("Conv"));
  EXPECT_TRUE(Pattern::parse("conv", Pattern::Letters::any_case)->found_in("Conv"));
}

TEST(Pattern, SaysWhatIsWrong) {
  const auto pattern = Pattern::parse("((");
  ASSERT_FALSE(pattern);
  EXPECT_THAT(pattern.error().message, HasSubstr("is no regular expression (RE2): missing )"));
}

}  // namespace
}  // namespace assay::corpus
