#include "harness/bundles/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::bundles {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<Difference>& differences, bool decides) {
  std::vector<std::string> names;
  for (const Difference& each : differences) {
    if (each.decides == decides) names.push_back(each.what);
  }
  return names;
}

const ordered_json kVerdict{{"verdict", "fail"},     {"gate", "red"}, {"stage", "artifact"},
                            {"reason", "scale 0.5"}, {"margin", 2.0}, {"seconds", 1}};

TEST(Differences, AreNoneBetweenEqualVerdictsWhateverTheTimeTaken) {
  ordered_json later = kVerdict;
  later["seconds"] = 9;
  EXPECT_THAT(differences(kVerdict, later, false), IsEmpty());
}

TEST(Differences, InNumbersDecideUnlessTheyWereMeasuredAnew) {
  ordered_json other = kVerdict;
  other["margin"] = 2.5;
  EXPECT_THAT(names(differences(kVerdict, other, false), true), ElementsAre("margin"));
  EXPECT_THAT(names(differences(kVerdict, other, true), true), IsEmpty());
  EXPECT_THAT(names(differences(kVerdict, other, true), false), ElementsAre("margin"));
}

TEST(Differences, InTheVerdictAlwaysDecide) {
  ordered_json other = kVerdict;
  other["verdict"] = "pass";
  other["gate"] = "green";
  EXPECT_THAT(names(differences(kVerdict, other, true), true), ElementsAre("verdict", "gate"));
}

TEST(Differences, InFoldersOfFilesDoNotCount) {
  ordered_json a = kVerdict, b = kVerdict;
  a["reason"] = "\"/tmp/one/out_0/model.onnx\" is empty; 3/4 of it";
  b["reason"] = "\"/else/where/model.onnx\" is empty; 3/4 of it";
  EXPECT_THAT(differences(a, b, false), IsEmpty());
  b["reason"] = "\"/else/where/other.onnx\" is empty; 3/4 of it";
  EXPECT_THAT(names(differences(a, b, false), true), ElementsAre("reason"));
}

}  // namespace
}  // namespace assay::bundles
