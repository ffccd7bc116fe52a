#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

Tensor bytes(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return codes(DType::uint8, {count}, std::move(values));
}

Tensor longs(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return codes(DType::int64, {count}, std::move(values));
}

TEST(Add, BroadcastsARowAgainstAColumn) {
  const Tensor sum = first_output("Add", {reals({2, 1}, {10, 20}), reals({3}, {1, 2, 3})});
  EXPECT_EQ(sum, reals({2, 3}, {11, 12, 13, 21, 22, 23}));
}

TEST(Add, WrapsAroundInTheDeclaredType) {
  EXPECT_EQ(first_output("Add", {bytes({250, 255}), bytes({10, 1})}), bytes({4, 0}));
  EXPECT_EQ(first_output("Add", {codes(DType::int8, {1}, {127}), codes(DType::int8, {1}, {1})}),
            codes(DType::int8, {1}, {-128}));
}

TEST(Add, NamesBothShapesThatDoNotBroadcast) {
  EXPECT_THAT(error_of("Add", {counting({2, 3}), counting({2, 4})}),
              HasSubstr("shapes [2,3] and [2,4] do not broadcast: 3 against 4 at axis -1"));
}

TEST(Add, RefusesUnlikeTypes) { EXPECT_THAT(error_of("Add", {reals({1.0}), longs({1})}), HasSubstr("has type float")); }

TEST(Sub, WrapsBelowZero) { EXPECT_EQ(first_output("Sub", {bytes({3}), bytes({5})}), bytes({254})); }

TEST(Mul, WrapsAroundInTheDeclaredType) {
  EXPECT_EQ(first_output("Mul", {bytes({20}), bytes({13})}), bytes({4}));  // 260 - 256
  EXPECT_EQ(first_output("Mul", {longs({kLowest}), longs({-1})}), longs({kLowest}));
}

TEST(Div, TruncatesIntegersTowardsZero) {
  EXPECT_EQ(first_output("Div", {longs({7, -7, 7, -7}), longs({2, 2, -2, -2})}), longs({3, -3, -3, 3}));
}

TEST(Div, WrapsTheLowestIntegerByMinusOne) {
  EXPECT_EQ(first_output("Div", {longs({kLowest}), longs({-1})}), longs({kLowest}));
}

TEST(Div, RefusesAnIntegerZeroAndAllowsARealOne) {
  EXPECT_THAT(error_of("Div", {longs({1, 2}), longs({1, 0})}), HasSubstr("divides integers and has a zero"));
  EXPECT_TRUE(std::isinf(first_output("Div", {reals({1.0}), reals({0.0})}).reals()[0]));
}

TEST(Mod, TakesTheSignOfTheDivisorOrWithFmodOfTheDividend) {
  const Tensor a = longs({-7, 7, -7, 7, kLowest});
  const Tensor b = longs({3, -3, -3, 3, -1});
  EXPECT_EQ(first_output("Mod", {a, b}), longs({2, -2, -1, 1, 0}));
  EXPECT_EQ(first_output("Mod", {a, b}, {{"fmod", std::int64_t{1}}}), longs({-1, 1, -1, 1, 0}));
}

TEST(Mod, NeedsFmodForReals) {
  EXPECT_EQ(first_output("Mod", {reals({-7.5}), reals({2.0})}, {{"fmod", std::int64_t{1}}}), reals({-1.5}));
  EXPECT_THAT(error_of("Mod", {reals({1.0}), reals({1.0})}), HasSubstr("fmod=1"));
}

TEST(Pow, RaisesIntegersExactly) {
  // 3^39 has 62 bits: a double would lose its end.
  EXPECT_EQ(first_output("Pow", {longs({3, -2, 2, 1, -1, 5}), longs({39, 3, -1, -9, -3, 0})}),
            longs({4052555153018976267, -8, 0, 1, -1, 1}));
}

TEST(Pow, GivesTheTypeOfTheBase) {
  EXPECT_EQ(first_output("Pow", {longs({2, 9}), reals({0.5})}), longs({1, 3}));
  EXPECT_EQ(first_output("Pow", {reals({4.0, 9.0}), codes(DType::int32, {}, {2})}), reals({16.0, 81.0}));
}

TEST(Min, GivesNanWhereAnyInputIsNan) {
  const Tensor least = first_output("Min", {reals({1.0, kNan, 3.0}), reals({2.0, 2.0, kNan}), reals({0.5})});
  EXPECT_EQ(least.reals()[0], 0.5);
  EXPECT_TRUE(std::isnan(least.reals()[1]));
  EXPECT_TRUE(std::isnan(least.reals()[2]));
}

TEST(Max, BroadcastsAllInputsTogether) {
  EXPECT_EQ(first_output("Max", {reals({2, 1}, {1, 4}), reals({1, 2}, {2, 3}), scalar(2.5)}),
            reals({2, 2}, {2.5, 3, 4, 4}));
}

TEST(Sum, AddsAllInputs) {
  EXPECT_EQ(first_output("Sum", {reals({1, 2}), scalar(10), scalar(100)}), reals({111, 112}));
}

TEST(Mean, DividesByTheNumberOfInputs) {
  EXPECT_EQ(first_output("Mean", {reals({1, 2}), reals({3, 4}), reals({5, 9})}), reals({3, 5}));
}

TEST(Neg, LeavesTheLowestInteger) {
  EXPECT_EQ(first_output("Neg", {codes(DType::int8, {2}, {-128, 5})}), codes(DType::int8, {2}, {-128, -5}));
}

TEST(Abs, LeavesTheLowestInteger) {
  EXPECT_EQ(first_output("Abs", {codes(DType::int8, {2}, {-128, -5})}), codes(DType::int8, {2}, {-128, 5}));
}

TEST(BitShift, LosesBitsThatLeaveTheType) {
  EXPECT_EQ(first_output("BitShift", {bytes({0x81, 1, 1}), bytes({1, 8, 200})}, {{"direction", std::string("LEFT")}}),
            bytes({2, 0, 0}));
  EXPECT_EQ(first_output("BitShift", {bytes({0x81}), bytes({1})}, {{"direction", std::string("RIGHT")}}),
            bytes({0x40}));
}

TEST(BitShift, NeedsADirection) {
  EXPECT_THAT(error_of("BitShift", {bytes({1}), bytes({1})}), HasSubstr("expected LEFT or RIGHT"));
}

TEST(Round, SendsHalvesToTheEvenNeighbour) {
  EXPECT_EQ(first_output("Round", {reals({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4999})}),
            reals({0.0, 2.0, 2.0, -0.0, -2.0, -2.0, 2.0}));
}

TEST(Sign, IsOneOfThreeValues) {
  EXPECT_EQ(first_output("Sign", {reals({-0.25, 0.0, 7.0})}), reals({-1.0, 0.0, 1.0}));
  EXPECT_EQ(first_output("Sign", {longs({kLowest, 0, 9})}), longs({-1, 0, 1}));
}

TEST(Equal, ComparesBooleansAndLargeIntegersExactly) {
  // 2^53 and its successor are the same double.
  EXPECT_THAT(first_output("Equal", {longs({9007199254740992}), longs({9007199254740993})}).integers(), ElementsAre(0));
  EXPECT_THAT(first_output("Equal", {codes(DType::boolean, {2}, {0, 1}), codes(DType::boolean, {}, {1})}).integers(),
              ElementsAre(0, 1));
}

TEST(Less, IsFalseForNan) {
  EXPECT_THAT(first_output("Less", {reals({kNan, 1.0}), reals({1.0, 2.0})}).integers(), ElementsAre(0, 1));
  EXPECT_THAT(first_output("GreaterOrEqual", {reals({kNan, 2.0}), reals({1.0, 2.0})}).integers(), ElementsAre(0, 1));
}

TEST(And, RefusesNumbers) { EXPECT_THAT(error_of("And", {longs({1}), longs({1})}), HasSubstr("expected bool")); }

TEST(Where, BroadcastsAllThree) {
  const Tensor picked =
      first_output("Where", {codes(DType::boolean, {2, 1}, {1, 0}), reals({1, 3}, {1, 2, 3}), scalar(9.0)});
  EXPECT_EQ(picked, reals({2, 3}, {1, 2, 3, 9, 9, 9}));
}

TEST(IsInf, TellsTheSigns) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = reals({inf, -inf, 1.0, kNan});
  EXPECT_THAT(first_output("IsInf", {x}).integers(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(first_output("IsInf", {x}, {{"detect_negative", std::int64_t{0}}}).integers(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(first_output("IsNaN", {x}).integers(), ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace assay::reference
