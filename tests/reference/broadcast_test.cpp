#include "reference/broadcast.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::reference {
namespace {

using testing::ElementsAre;

TEST(BroadcastShape, AlignsAtTheLastAxis) {
  EXPECT_EQ(*broadcast_shape(Shape{3, 1}, Shape{2, 1, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(*broadcast_shape(Shape{}, Shape{2}), Shape{2});
  EXPECT_EQ(*broadcast_shape(Shape{1}, Shape{0}), Shape{0});
}

TEST(BroadcastShape, RefusesUnequalExtents) {
  const auto shape = broadcast_shape(Shape{2, 3}, Shape{3, 3});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message, "shapes [2,3] and [3,3] do not broadcast: 2 against 3 at axis -2");
  EXPECT_FALSE(broadcast_shape(Shape{2}, Shape{0}));
}

TEST(BroadcastStrides, AreZeroAlongStretchedAxes) {
  EXPECT_THAT(broadcast_strides(Shape{3, 1}, Shape{2, 3, 4}), ElementsAre(0, 1, 0));
  EXPECT_THAT(broadcast_strides(Shape{2, 3, 4}, Shape{2, 3, 4}), ElementsAre(12, 4, 1));
}

TEST(ForEachBroadcast, VisitsInRowMajorOrder) {
  const Shape shape{2, 2, 2};
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  for_each_broadcast<2>(shape, {broadcast_strides(Shape{2, 1, 2}, shape), broadcast_strides(Shape{2, 1}, shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 2>& from) {
                          positions.push_back(position);
                          first.push_back(from[0]);
                          second.push_back(from[1]);
                        });
  EXPECT_THAT(positions, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(first, ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(second, ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
}

TEST(ForEachBroadcast, VisitsAScalarOnceAndNothingNever) {
  int visits = 0;
  const auto count = [&](std::int64_t, const std::array<std::int64_t, 1>&) { ++visits; };
  for_each_broadcast<1>(Shape{}, {std::vector<std::int64_t>{}}, count);
  EXPECT_EQ(visits, 1);
  for_each_broadcast<1>(Shape{3, 0}, {std::vector<std::int64_t>{0, 0}}, count);
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace assay::reference
