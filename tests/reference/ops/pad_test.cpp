#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

Tensor pads(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return codes(DType::int64, {count}, std::move(values));
}

/// 0 1 2 3 padded.
Tensor padded(const std::string& mode, std::int64_t begin, std::int64_t end) {
  return first_output("Pad", {counting({4}), pads({begin, end})}, {{"mode", mode}}, 19);
}

TEST(Pad, ReflectsWithoutRepeatingTheEdge) {
  EXPECT_EQ(padded("reflect", 2, 3), reals({2, 1, 0, 1, 2, 3, 2, 1, 0}));
  // Longer than the data: back and forth.
  EXPECT_EQ(padded("reflect", 0, 7), reals({0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2}));
}

TEST(Pad, RepeatsTheEdge) { EXPECT_EQ(padded("edge", 2, 1), reals({0, 0, 0, 1, 2, 3, 3})); }

TEST(Pad, WrapsAround) { EXPECT_EQ(padded("wrap", 5, 1), reals({3, 0, 1, 2, 3, 0, 1, 2, 3, 0})); }

TEST(Pad, RemovesElementsForNegativePads) {
  EXPECT_EQ(padded("constant", -1, -2), reals({1}));
  EXPECT_EQ(padded("constant", -1, 2), reals({1, 2, 3, 0, 0}));
  // What is left is reflected, not what was removed.
  EXPECT_EQ(padded("reflect", -1, 2), reals({1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("edge", -4, 0), reals({0}, {}));
}

TEST(Pad, FillsWithTheGivenValue) {
  EXPECT_EQ(first_output("Pad", {reals({1, 2}), pads({1, 0}), scalar(-0.5)}), reals({-0.5, 1, 2}));
  EXPECT_EQ(first_output("Pad", {codes(DType::int8, {1}, {7}), pads({1, 1}), scalar(DType::int8, -9)}),
            codes(DType::int8, {3}, {-9, 7, -9}));
  EXPECT_EQ(first_output("Pad", {reals({1, 2})}, {{"pads", std::vector<std::int64_t>{0, 1}}, {"value", 3.0}}, 10),
            reals({1, 2, 3}));
}

TEST(Pad, NamesAxesFromOpset18) {
  EXPECT_EQ(first_output("Pad", {counting({1, 2}), pads({1, 0}), scalar(9.0), pads({-1})}, {}, 18),
            reals({1, 3}, {9, 0, 1}));
}

TEST(Pad, RefusesWhatDoesNotFit) {
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error_of("Pad", {counting({4}), pads({-3, -2})}), HasSubstr("padding [4]"));
  EXPECT_THAT(error_of("Pad", {counting({4}), pads({kHighest, kHighest})}), HasSubstr("out of all proportion"));
  EXPECT_THAT(error_of("Pad", {counting({4}), pads({1})}), HasSubstr("1 pads for 1 axes"));
  EXPECT_THAT(error_of("Pad", {reals({0}, {}), pads({1, 1})}, {{"mode", std::string("reflect")}}),
              HasSubstr("leave nothing of extent 0"));
  EXPECT_THAT(error_of("Pad", {counting({4}), pads({1, 1})}, {{"mode", std::string("mirror")}}),
              HasSubstr("expected constant, reflect, edge or wrap"));
}

}  // namespace
}  // namespace assay::reference
