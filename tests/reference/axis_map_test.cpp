#include "reference/axis_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

TEST(Take, CopiesByTheIdentityMap) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3, 4}, Shape{2, 0}}) {
    const Tensor x = counting(shape);
    EXPECT_EQ(*take(x, AxisMap::identity(shape)), x);
  }
}

TEST(Take, FillsWhereAnyAxisIsOutside) {
  AxisMap map = AxisMap::identity({2, 2});
  map.axes[0].push_back(AxisMap::kOutside);
  map.axes[1].insert(map.axes[1].begin(), AxisMap::kOutside);
  EXPECT_EQ(*take(counting({2, 2}), map, -1.0), reals({3, 3}, {-1, 0, 1, -1, 2, 3, -1, -1, -1}));
}

TEST(TakeRange, CutsOutOfOneAxis) {
  EXPECT_EQ(*take_range(counting({2, 3}), 1, 1, 2), reals({2, 2}, {1, 2, 4, 5}));
  EXPECT_EQ(*take_range(counting({2, 3}), 0, 2, 0), reals({0, 3}, {}));
}

TEST(Concatenated, UndoesTakeRange) {
  const Tensor x = counting({2, 5, 3});
  const Tensor left = *take_range(x, 1, 0, 2);
  const Tensor right = *take_range(x, 1, 2, 3);
  EXPECT_EQ(*concatenated({&left, &right}, 1), x);
}

TEST(Concatenated, RefusesAnotherType) {
  const Tensor x = counting({2});
  const Tensor codes_of_x = codes(DType::int8, {2}, {0, 1});
  EXPECT_THAT(concatenated({&x, &codes_of_x}, 0).error().message, HasSubstr("input 1 is int8[2]"));
}

}  // namespace
}  // namespace assay::reference
