#include "harness/judge/facets/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Mentions, ANameIsAWordOfItsOwn) {
  EXPECT_TRUE(mentions("no scale for conv_1", "conv_1"));
  EXPECT_FALSE(mentions("no scale for conv_10", "conv_1"));
  EXPECT_FALSE(mentions("block/conv_1 fails", "conv_1")) << "another name's end";
  EXPECT_FALSE(mentions("conv_1/bias fails", "conv_1")) << "another name's beginning";
  EXPECT_TRUE(mentions("conv_1: no scale.", "conv_1"));
  EXPECT_TRUE(mentions("tensor a/b:0 has none", "a/b:0"));
  EXPECT_FALSE(mentions("anything", ""));
}

TEST(Mentions, AWordOfProseIsNoName) {
  EXPECT_FALSE(mentions("_Map_base::at", "a"));
  EXPECT_FALSE(mentions("a scale is missing", "a"));
  EXPECT_FALSE(mentions("invalid data", "data"));
  EXPECT_TRUE(mentions("Missing scale and zero-point for tensor a", "a"));
  EXPECT_TRUE(mentions("missing scale of 'a'", "a"));
  EXPECT_TRUE(mentions("input: data has batch 2", "data"));
  EXPECT_TRUE(mentions("Concat(a)", "a"));
}

const model::Model& two_nodes() {
  static const model::Model model = testing::parse("g (float[2] a) => (float[2] y) { at = Neg(a) y = CumSum(at, i) }",
                                                   {{"i", core::Tensor::scalar(core::DType::int32, 0)}});
  return model;
}
std::vector<std::string> faults(const std::string& node, const std::string& op, const std::string& reason) {
  return diagnosis_faults(two_nodes().graph, node, op, reason);
}

TEST(Diagnosis, NodeOperatorAndReasonAreComplete) {
  EXPECT_THAT(faults("y", "CumSum", "no INT8 form"), IsEmpty());
  EXPECT_THAT(faults("y", "", "CumSum has no INT8 form"), IsEmpty()) << "the operator stands in the reason";
  EXPECT_THAT(faults("", "", "no calibration data for input \"a\""), IsEmpty()) << "data have no operator";
}

TEST(Diagnosis, WhatWasGivenBesideTheModelIsAName) {
  const auto given = [](const std::string& reason, const GivenBeside& beside) {
    return diagnosis_faults(two_nodes().graph, "", "", reason, beside);
  };
  EXPECT_THAT(given("the calibration cache is of version 2", {"/job/table.txt", {}}), IsEmpty());
  EXPECT_THAT(given("\"/job/table.txt\" can't be read", {"/job/table.txt", {}}), IsEmpty());
  EXPECT_THAT(given("version 2", {"/job/table.txt", {}}), SizeIs(1));
  EXPECT_THAT(given("the calibration cache is of version 2", {}), SizeIs(1)) << "none was given";
  EXPECT_THAT(given("Invalid input name: ghost", {"", {"ghost"}}), IsEmpty());
  EXPECT_THAT(given("Invalid input name: ghost", {}), SizeIs(1));
}

TEST(Diagnosis, AMapsOwnWordsAloneNameNothing) {
  EXPECT_THAT(faults("", "", "_Map_base::at"), ElementsAre(HasSubstr("neither a node nor a tensor")));
  EXPECT_THAT(faults("", "", "terminate called after throwing std::out_of_range: _Map_base::at"), SizeIs(1));
  EXPECT_THAT(faults("y", "", "_Map_base::at"), ElementsAre(HasSubstr("operator of node \"y\" isn't named")));
}

TEST(Diagnosis, WhatIsLeftOutOrWrongIsSaid) {
  EXPECT_THAT(faults("", "", "batch 1: \"0001/input_0.pb\" is not a tensor"), IsEmpty()) << "the file is all there is";
  EXPECT_THAT(faults("", "", "batch 1 is broken"), SizeIs(1));
  EXPECT_THAT(faults("y", "CumSum", ""), ElementsAre("no reason given"));
  EXPECT_THAT(faults("y", "Neg", "no"), ElementsAre("node \"y\" is a CumSum, not a Neg"));
  EXPECT_THAT(faults("n7", "CumSum", "no"), ElementsAre(HasSubstr("\"n7\" is neither a node nor a tensor")));
  EXPECT_THAT(faults("", "", ""), SizeIs(2));
}

}  // namespace
}  // namespace assay::judge
