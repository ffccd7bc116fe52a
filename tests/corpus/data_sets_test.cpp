#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/corpus/data_sets.hpp"
#include "tests/corpus/small_case.hpp"

namespace assay::corpus {
namespace {

using testing::ElementsAre;

// Range -1 … 4 under uint8: scale 5/255, zero point 51; here with a round scale so that half steps are exact.
const std::map<std::string, core::QuantParams> kScales{{"x", {{0.03125}, {32}, core::DType::uint8, std::nullopt}}};

core::Tensor drawn(const std::string& set, const std::string& more = "") {
  const auto cases = relu_family("", R"({"range":[-1,4],"data":[")" + set + "\"]" + more + "}");
  auto data = data_set(cases[0], set, kScales);
  EXPECT_TRUE(data) << (data ? "" : data.error().message);
  return data ? data->at("x") : core::Tensor{};
}

TEST(DataSet, StaysInsideTheRangeWhenTypical) {
  const core::Tensor tensor = drawn("typical");
  for (const double x : tensor.reals()) {
    EXPECT_GT(x, -1.0);
    EXPECT_LT(x, 4.0);
  }
}

TEST(DataSet, HitsHalfStepsInTies) {
  int ties = 0;
  const core::Tensor tensor = drawn("ties");
  for (const double x : tensor.reals()) {
    const double steps = x / 0.03125;
    ties += steps - std::floor(steps) == 0.5 ? 1 : 0;
  }
  EXPECT_GT(ties * 2, static_cast<int>(tensor.size()));
}

TEST(DataSet, LeavesTheRangeOnBothSidesWhenSaturating) {
  const core::Tensor tensor = drawn("saturate");
  const auto [low, high] = std::minmax_element(tensor.reals().begin(), tensor.reals().end());
  EXPECT_LT(*low, -1.0);
  EXPECT_GT(*high, 4.0);
}

TEST(DataSet, LightsOneChannelAtEveryPositionInOneHot) {
  const core::Tensor tensor = drawn("one_hot");
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t p = 0; p < 5; ++p) {
      int lit = 0;
      for (std::int64_t c = 0; c < 3; ++c) lit += tensor.as_real((n * 3 + c) * 5 + p) != 0 ? 1 : 0;
      EXPECT_EQ(lit, 1);
    }
  }
}

TEST(DataSet, HoldsWholeStepsInSmallIntegers) {
  const core::Tensor tensor = drawn("small_integers");
  for (const double x : tensor.reals()) {
    EXPECT_EQ(x / 0.03125, std::round(x / 0.03125));
    EXPECT_LE(std::abs(x / 0.03125), 8);
  }
}

TEST(DataSet, HoldsTheEndsOnlyInExtremes) {
  const core::Tensor tensor = drawn("extremes");
  std::set<double> values(tensor.reals().begin(), tensor.reals().end());
  EXPECT_THAT(values, ElementsAre(-1.0, 4.0));
}

TEST(DataSet, HoldsOneValueWhenConstantAndNothingWhenZeros) {
  const core::Tensor constant = drawn("constant");
  EXPECT_EQ(std::set<double>(constant.reals().begin(), constant.reals().end()).size(), 1U);
  EXPECT_NE(constant.as_real(0), 0);
  const core::Tensor zeros = drawn("zeros");
  for (const double x : zeros.reals()) EXPECT_EQ(x, 0);
}

TEST(DataSet, ChangesSignFromElementToElementWhenAlternating) {
  const core::Tensor tensor = drawn("alternating");
  for (std::int64_t i = 1; i < tensor.size(); ++i) EXPECT_LT(tensor.as_real(i) * tensor.as_real(i - 1), 0);
}

TEST(DataSet, GivesOtherDataThanCalibration) {
  const auto cases = relu_family("", R"({"range":[-1,4]})");
  const auto data = data_set(cases[0], "typical", {});
  const auto batches = calibration_batches(cases[0], cases[0].calibration);
  for (const auto& batch : *batches) EXPECT_NE(data->at("x"), batch.at("x"));
}

TEST(DataSet, ChangesWithTheScalesExactlyWhereItSaysSo) {
  const std::map<std::string, core::QuantParams> other{{"x", {{0.0625}, {64}, core::DType::uint8, std::nullopt}}};
  for (const std::string& set : known_data_sets()) {
    const auto cases = relu_family("", R"({"range":[-1,4],"data":[")" + set + "\"]}");
    const auto one = data_set(cases[0], set, kScales);
    const auto two = data_set(cases[0], set, other);
    ASSERT_TRUE(one && two) << set;
    EXPECT_EQ(*one != *two, !tensors_behind(cases[0], set).empty() && set != "witness") << set;
  }
}

TEST(DataSet, RefusesAnUnknownName) {
  const auto cases = relu_family("", "{}");
  EXPECT_FALSE(data_set(cases[0], "typicl", {}));
}

TEST(DataSetNames, KeepTheOrderOfTheDesign) {
  const auto cases = relu_family("", R"({"data":["saturate","typical","ties"]})");
  EXPECT_THAT(data_set_names(cases[0]), ElementsAre("typical", "ties", "saturate"));
}

TEST(UsualDataSets, LeaveRangesOnlyWhereAnInputHasOne) {
  model::Graph graph;
  graph.inputs.push_back({"ids", core::DType::int64, {}});
  EXPECT_EQ(usual_data_sets(graph), std::vector<std::string>{"typical"}) << "nothing of it can saturate";
  graph.inputs.push_back({"x", core::DType::float32, {}});
  EXPECT_EQ(usual_data_sets(graph), (std::vector<std::string>{"typical", "saturate"}));
}

}  // namespace
}  // namespace assay::corpus
