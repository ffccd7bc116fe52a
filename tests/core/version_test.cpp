#include "harness/core/version.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace assay::core {
namespace {

TEST(Version, NumbersAreComparedAsNumbersAndPreReleasesComeFirst) {
  const std::vector<std::string> ordered = {"1.9",    "1.10.0",       "1.15.1", "1.16.0b2", "1.16.0rc1",
                                            "1.16.0", "1.16.0.post1", "1.16.3", "2.0",      "2024.1"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(version_less(ordered[i], ordered[j]), i < j) << ordered[i] << " and " << ordered[j];
    }
  }
}

TEST(Version, WordsAreInTheOrderOfTheirLetters) {
  EXPECT_TRUE(version_less("", "1"));
  EXPECT_TRUE(version_less("nightly", "unknown"));
  EXPECT_FALSE(version_less("unknown", "unknown"));
}

TEST(VersionWithin, TakesPatternsAndConditions) {
  EXPECT_TRUE(version_within("", "1.19.2"));
  EXPECT_TRUE(version_within("1.15.1,1.19.*", "1.19.2"));
  EXPECT_FALSE(version_within("1.15.1,1.19.*", "1.20.1"));
  EXPECT_TRUE(version_within(">=1.15 <1.20", "1.19.2"));
  EXPECT_FALSE(version_within(">=1.15 <1.20", "1.20.0"));
  EXPECT_TRUE(version_within("<1.15,>1.20.0", "1.20.1"));
  EXPECT_FALSE(version_within("<1.15,>1.20.0", "1.20.0"));
  EXPECT_TRUE(version_within("<=1.20.0", "1.20.0"));
}

TEST(VersionWithin, SaysWhatIsNoRange) {
  EXPECT_EQ(version_ranges_fault(""), "");
  EXPECT_EQ(version_ranges_fault("1.15.1,1.1?.*,*rc1,>=1.2 <=1.3"), "");
  EXPECT_NE(version_ranges_fault("=>1.2"), "");
  EXPECT_NE(version_ranges_fault(">="), "");
  EXPECT_NE(version_ranges_fault("since 1.2"), "");
}

}  // namespace
}  // namespace assay::core
