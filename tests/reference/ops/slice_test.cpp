#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLowestIndex = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighestIndex = std::numeric_limits<std::int64_t>::max();

Tensor one(std::int64_t value) { return codes(DType::int64, {1}, {value}); }

/// Of 0 1 2 3 4.
Tensor sliced(std::int64_t start, std::int64_t end, std::int64_t step) {
  return first_output("Slice", {counting({5}), one(start), one(end), one(0), one(step)});
}

TEST(Slice, CountsNegativePositionsFromTheEnd) {
  EXPECT_EQ(sliced(-3, -1, 1), reals({2, 3}));
  EXPECT_EQ(sliced(1, kHighestIndex, 2), reals({1, 3}));
}

TEST(Slice, ReachesTheFirstElementBackwards) {
  EXPECT_EQ(sliced(-1, kLowestIndex, -1), reals({4, 3, 2, 1, 0}));
  EXPECT_EQ(sliced(kHighestIndex, -6, -2), reals({4, 2, 0}));
  // -1 is the last element, not "before the first".
  EXPECT_EQ(sliced(4, -1, -1), reals({0}, {}));
}

TEST(Slice, ClampsABackwardStartToTheFirstElement) {
  // Slice-13: "[0, dims - 1] for negative stepping"; Python would give nothing.
  EXPECT_EQ(sliced(-9, kLowestIndex, -1), reals({0}));
}

TEST(Slice, SurvivesTheLongestSteps) {
  EXPECT_EQ(sliced(1, 5, kHighestIndex), reals({1}));
  EXPECT_EQ(sliced(3, kLowestIndex, kLowestIndex), reals({3}));
}

TEST(Slice, TakesNegativeAxesInAnyOrder) {
  const Tensor x = counting({2, 3});
  const Tensor axes = codes(DType::int64, {2}, {-1, 0});
  const Tensor starts = codes(DType::int64, {2}, {1, 1});
  const Tensor ends = codes(DType::int64, {2}, {3, 2});
  EXPECT_EQ(first_output("Slice", {x, starts, ends, axes}), reals({1, 2}, {4, 5}));
}

TEST(Slice, TakesAttributesBeforeOpset10) {
  using Extents = std::vector<std::int64_t>;
  EXPECT_EQ(first_output("Slice", {counting({2, 3})}, {{"starts", Extents{0, 1}}, {"ends", Extents{1, 9}}}, 9),
            reals({1, 2}, {1, 2}));
}

TEST(Slice, RefusesAStepOfZeroAndAnAxisTwice) {
  EXPECT_THAT(error_of("Slice", {counting({5}), one(0), one(1), one(0), one(0)}), HasSubstr("step along axis 0 is 0"));
  const Tensor twice = codes(DType::int64, {2}, {0, -1});
  EXPECT_THAT(error_of("Slice", {counting({5}), twice, twice, twice}), HasSubstr("named twice"));
  EXPECT_THAT(error_of("Slice", {counting({5}), one(0), twice}), HasSubstr("1 starts, 2 ends"));
}

}  // namespace
}  // namespace assay::reference
