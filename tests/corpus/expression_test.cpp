#include "harness/corpus/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::corpus {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

const Bindings kBindings{{"cin", 64},    {"cout", 10},        {"groups", 2}, {"alpha", 0.5},
                         {"op", "Relu"}, {"pads", {1, 0, 2}}, {"sym", true}, {"k", -3}};

ordered_json substituted(const ordered_json& value) {
  const auto result = substitute(value, kBindings);
  return result ? *result : ordered_json("error: " + result.error().message);
}

TEST(Substitute, GivesNumbersForWholeExpressions) {
  EXPECT_EQ(substituted("$cin"), 64);
  EXPECT_EQ(substituted("$cout/$groups"), 5);
  EXPECT_TRUE(substituted("$cout/$groups").is_number_integer());
  EXPECT_EQ(substituted("($cin + 2) * $groups"), 132);
  EXPECT_EQ(substituted("$cout % 4"), 2);
  EXPECT_EQ(substituted("-$k"), 3);
  EXPECT_EQ(substituted("$alpha*4"), 2.0);
}

TEST(Substitute, RefusesWhatNestsTooDeep) {
  constexpr std::size_t kMany = 1'000'000;
  for (const std::string& text : {std::string(kMany, '(') + "$cin" + std::string(kMany, ')'),
                                  std::string(kMany, '-') + "$cin", "a " + std::string(kMany, '(') + "$cin"}) {
    EXPECT_THAT(substituted(text).get<std::string>(), HasSubstr("nest too deep"));
  }
  EXPECT_EQ(substituted(std::string(50, '(') + "$cin+0" + std::string(50, ')')), 64);
}

TEST(Substitute, ReadsLongSumsOfNumbersOnce) {
  std::string sum = "1";
  for (int i = 0; i < 20'000; ++i) sum += "+1*(2-3)";  // its square in steps, where each number begins a sum anew
  EXPECT_EQ(substituted("x " + sum + " $op"), "x " + sum + " Relu");
  EXPECT_EQ(substituted("[1+2, (3-$op), 1*(2-$cin)]"), "[1+2, (3-Relu), -62]");
}

TEST(Substitute, KeepsDivisionExactAndRoundsDownOnRequest) {
  EXPECT_EQ(substituted("$cout/4"), 2.5);
  EXPECT_EQ(substituted("$cout//4"), 2);
  EXPECT_EQ(substituted("$k//2"), -2);
}

TEST(Substitute, HandsOnValuesOfEveryType) {
  EXPECT_EQ(substituted("$pads"), ordered_json({1, 0, 2}));
  EXPECT_EQ(substituted("$sym"), true);
  EXPECT_EQ(substituted("$op"), "Relu");
}

TEST(Substitute, ReplacesTheLongestExpressionInsideText) {
  EXPECT_EQ(substituted("float[2,$cin*2,($cout+2)//5,7] x"), "float[2,128,2,7] x");
  EXPECT_EQ(substituted("y = $op (x$groups)"), "y = Relu (x2)");
  EXPECT_EQ(substituted("2*$cout+1 and more"), "21 and more");
  EXPECT_EQ(substituted("pads=$pads, alpha=$alpha"), "pads=[1,0,2], alpha=0.5");
}

TEST(Substitute, LeavesTheParenthesesOfTheTextAlone) {
  EXPECT_EQ(substituted("y = Relu ($cin)"), "y = Relu (64)");
  EXPECT_EQ(substituted("Foo ($op)"), "Foo (Relu)");
}

TEST(Substitute, LeavesTextWithoutDollarAlone) {
  EXPECT_EQ(substituted("1/2"), "1/2");
  EXPECT_EQ(substituted("half of 4*3"), "half of 4*3");
}

TEST(Substitute, EscapesAndDelimitsNames) {
  EXPECT_EQ(substituted("a$$b"), "a$b");
  EXPECT_EQ(substituted("n${cin}x"), "n64x");
}

TEST(Substitute, ReachesIntoListsObjectsAndKeys) {
  const ordered_json json = {{"$op", {"$cin", {{"deep", "$k"}}}}};
  EXPECT_EQ(substituted(json), ordered_json({{"Relu", {64, {{"deep", -3}}}}}));
}

TEST(Substitute, NamesTheNearestKeyForAnUnknownName) {
  const auto result = substitute(ordered_json("$cinn"), kBindings);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, core::ErrorKind::invalid_case);
  EXPECT_THAT(result.error().message, HasSubstr("\"$cinn\" is not a key of the matrix"));
  EXPECT_THAT(result.error().message, HasSubstr("$cin"));
}

TEST(Substitute, RefusesToDivideByZero) {
  EXPECT_FALSE(substitute(ordered_json("$cin/0"), kBindings));
  EXPECT_FALSE(substitute(ordered_json("float[$cin//0] x"), kBindings));
}

}  // namespace
}  // namespace assay::corpus
