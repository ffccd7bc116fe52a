#include "results/signature.hpp"

#include <gtest/gtest.h>

namespace assay::results {
namespace {

std::string text(std::string_view message) {
  const std::string whole = signature("v", "s", "f", "o", message);
  return whole.substr(std::string("v|s|f|o|").size());
}

TEST(Signature, CarriesVerdictStageFacetAndOperator) {
  EXPECT_EQ(signature("fail", "judge", "scale", "Concat", "off"), "fail|judge|scale|Concat|off");
}

TEST(Signature, NumbersOfEveryFormAreTheSame) {
  EXPECT_EQ(text("scale 0.0236, output 1.5e-07"), "scale #, output #");
  EXPECT_EQ(text("first y[0,3,1,2]: expected 47, actual -94"), "first y[#]: expected #, actual #");
  EXPECT_EQ(text("at 0x7f3a2b1c"), "at #");
  EXPECT_EQ(text("shape [1,64,8,8] and [2]"), text("shape [3, 5] and [1,2,3]"));
}

TEST(Signature, PathsAreTheSame) {
  EXPECT_EQ(text("can't read \"/tmp/assay-1/model.onnx\" now"), "can't read \"<path>\" now");
  EXPECT_EQ(text("File \"/a/b.py\", line 12"), text("File \"/c/d/e.py\", line 7"));
}

TEST(Signature, AlikeFailuresOfUnlikeNodesMeet) {
  EXPECT_EQ(text("node \"conv12\" has no scale"), text("node \"conv7\" has no scale"));
  EXPECT_NE(text("node \"conv12\" has no scale"), text("node \"conv12\" has no axis"));
}

TEST(Signature, OfSeveralLinesTheFirstAndTheLastCount) {
  EXPECT_EQ(text("died with signal 11\nlog of case 7\nlog of case 8\nwhat(): map::at\n"),
            "died with signal # … what(): map::at");
}

TEST(Signature, EmptyMessagesAreFine) { EXPECT_EQ(text(""), ""); }

}  // namespace
}  // namespace assay::results
