#include "harness/core/tensor.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace assay::core {
namespace {

TEST(ElementCount, OfAnExtentOfZeroIsZeroHoweverLargeTheOthersAre) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0);
  EXPECT_EQ(element_count(Shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40}), 0);
}

TEST(ElementCount, BeyondWhatANumberHoldsIsTheLargest) {
  EXPECT_EQ(element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}),
            std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace assay::core
