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

TEST(VisibleName, EscapesWhatTurnsTheDirectionOfWritingAndIsNoUtf8) {
  EXPECT_EQ(visible_name("a\u202eb"), "a\\u202eb");
  EXPECT_EQ(visible_name("a\xffz"), "a\xef\xbf\xbdz");
}

TEST(VisibleText, KeepsLinesAndEscapesWhatATerminalObeys) {
  EXPECT_EQ(visible_text("größe\n\t\"x\""), "größe\n\t\"x\"");
  EXPECT_EQ(visible_text("\x1b[2J\r\x7f\xc2\x9b\u2066"), "\\u001b[2J\\u000d\\u007f\\u009b\\u2066");
  EXPECT_EQ(visible_line("x\n2382 pass"), "x\\n2382 pass");
}

TEST(IsUtf8, RefusesOverlongFormsAndSurrogates) {
  EXPECT_TRUE(is_utf8("a\xf0\x9f\x98\x80"));
  for (const char* text : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "\x80"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_TRUE(is_utf8(utf8_text(text)));
  }
}

TEST(EndOfQuotes, PassesOverWhatIsEscaped) {
  EXPECT_EQ(end_of_quotes("\"a\" b", 0), 2U);
  EXPECT_EQ(end_of_quotes("\"a \\\"b\\\" c\" d", 0), 10U);
  EXPECT_EQ(end_of_quotes("\"C:\\\"", 0), 4U);
  EXPECT_EQ(end_of_quotes("\"open", 0), std::string_view::npos);
}

TEST(Quoted, NoLineOfAnEntryIsTakenForAnother) {
  EXPECT_EQ(one_entry("refused\n  node \"x\n2382 planned\""), "refused\n  node \"x\n  2382 planned\"");
  EXPECT_EQ(one_entry("a\n\nb\n"), "a\n\n  b\n");
}

}  // namespace
}  // namespace assay::core
