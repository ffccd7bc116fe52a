#include "harness/core/quoted.hpp"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

TEST(VisibleName, EscapesWhatEndsQuotesOrTheLine) {
  EXPECT_EQ(visible_name("conv/größe:0"), "conv/größe:0");
  EXPECT_EQ(visible_name("C:\\model"), "C:\\model");
  EXPECT_EQ(visible_name("it's \"so\""), "it's \\\"so\\\"");
  EXPECT_EQ(visible_name("two\nlines"), "two\\nlines");
  EXPECT_EQ(visible_name("a\x1b[31m"), "a\\u001b[31m");
}

TEST(EndOfQuotes, PassesOverWhatIsEscaped) {
  EXPECT_EQ(end_of_quotes("\"a\" b", 0), 2U);
  EXPECT_EQ(end_of_quotes("\"a \\\"b\\\" c\" d", 0), 10U);
  EXPECT_EQ(end_of_quotes("\"C:\\\"", 0), 4U);
  EXPECT_EQ(end_of_quotes("\"open", 0), std::string_view::npos);
}

}  // namespace
}  // namespace assay::core
