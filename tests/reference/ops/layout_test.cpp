#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;
using List = std::vector<std::int64_t>;

constexpr std::int64_t kHighestInt = std::numeric_limits<std::int64_t>::max();

Tensor list(List values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return codes(DType::int64, {count}, std::move(values));
}

TEST(Concat, JoinsAlongAnInnerAxis) {
  EXPECT_EQ(first_output("Concat", {reals({2, 1}, {1, 2}), reals({2, 2}, {3, 4, 5, 6})}, {{"axis", std::int64_t{-1}}}),
            reals({2, 3}, {1, 3, 4, 2, 5, 6}));
}

TEST(Concat, TakesTheSameTensorTwiceAndEmptyOnes) {
  const Tensor x = reals({1, 2});
  EXPECT_EQ(first_output("Concat", {x, reals({0}, {}), x}, {{"axis", std::int64_t{0}}}), reals({1, 2, 1, 2}));
}

TEST(Concat, NamesTheInputThatDisagrees) {
  EXPECT_THAT(error_of("Concat", {counting({2, 1}), counting({3, 1})}, {{"axis", std::int64_t{1}}}),
              HasSubstr("input 1 has shape [3,1], which does not fit [2,1] of the inputs before it along axis 1"));
  EXPECT_THAT(error_of("Concat", {counting({2})}), HasSubstr("axis is missing"));
}

TEST(Split, TakesSizesAsAttributeAsInputOrEqual) {
  const Tensor x = counting({5});
  const auto by_attribute = run_op("Split", {&x}, {{"split", List{2, 3}}}, 11, 2);
  ASSERT_TRUE(by_attribute);
  EXPECT_EQ((*by_attribute)[1], reals({2, 3, 4}));
  const Tensor sizes = list({4, 1});
  const auto by_input = run_op("Split", {&x, &sizes}, {}, 13, 2);
  ASSERT_TRUE(by_input);
  EXPECT_EQ((*by_input)[1], reals({4}));
  const Tensor even = counting({2, 4});
  const auto equal = run_op("Split", {&even}, {{"axis", std::int64_t{1}}}, 13, 2);
  ASSERT_TRUE(equal);
  EXPECT_EQ((*equal)[0], reals({2, 2}, {0, 1, 4, 5}));
}

TEST(Split, MakesTheLastPartSmallerFromOpset18) {
  const Tensor x = counting({7});
  const auto parts = run_op("Split", {&x}, {{"num_outputs", std::int64_t{3}}}, 18, 3);
  ASSERT_TRUE(parts);
  EXPECT_EQ((*parts)[0], reals({0, 1, 2}));
  EXPECT_EQ((*parts)[2], reals({6}));
  EXPECT_FALSE(run_op("Split", {&x}, {}, 13, 3));
}

TEST(Split, RefusesSizesThatDoNotAddUp) {
  EXPECT_THAT(error_of("Split", {counting({5}), list({2, 2})}), HasSubstr("split [2,2] does not add up to extent 5"));
  EXPECT_THAT(error_of("Split", {counting({5}), list({6, -1})}), HasSubstr("does not add up"));
  EXPECT_THAT(error_of("Split", {counting({5}), list({kHighestInt, kHighestInt})}), HasSubstr("does not add up"));
}

TEST(Transpose, ReversesTheAxesByDefault) {
  EXPECT_EQ(first_output("Transpose", {counting({2, 3})}), reals({3, 2}, {0, 3, 1, 4, 2, 5}));
}

TEST(Transpose, PutsAxisPermOfIAtI) {
  const Tensor moved = first_output("Transpose", {counting({2, 3, 4})}, {{"perm", List{1, 2, 0}}});
  EXPECT_EQ(moved.shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moved.reals()[1], 12.0);  // [0,0,1] was [1,0,0]
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(error_of("Transpose", {counting({2, 3})}, {{"perm", List{0, 0}}}), HasSubstr("perm [0,0]"));
  EXPECT_THAT(error_of("Transpose", {counting({2, 3})}, {{"perm", List{0}}}), HasSubstr("does not name every axis"));
}

TEST(Reshape, CopiesZerosAndInfersMinusOne) {
  EXPECT_EQ(first_output("Reshape", {counting({2, 3, 4}), list({0, -1})}).shape(), (Shape{2, 12}));
  EXPECT_EQ(first_output("Reshape", {reals({0, 3}, {}), list({3, 0})}, {{"allowzero", std::int64_t{1}}}).shape(),
            (Shape{3, 0}));
  EXPECT_EQ(first_output("Reshape", {reals({1.0}), list({})}).shape(), Shape{});
}

TEST(Reshape, RefusesShapesThatDoNotHoldTheData) {
  EXPECT_THAT(error_of("Reshape", {counting({2, 3}), list({4, 2})}),
              HasSubstr("float[2,3] can't be given the shape [4,2]"));
  EXPECT_THAT(error_of("Reshape", {counting({2, 3}), list({-1, -1})}), HasSubstr("more than one -1"));
  EXPECT_THAT(error_of("Reshape", {counting({2, 3}), list({4, -1})}), HasSubstr("can't be given"));
  EXPECT_THAT(error_of("Reshape", {counting({2, 3}), list({0, 0, 0})}), HasSubstr("can't be given"));
  EXPECT_THAT(error_of("Reshape", {reals({0}, {}), list({0, -1})}), HasSubstr("can't be given"));
  EXPECT_THAT(error_of("Reshape", {counting({2, 3}), list({kHighestInt, kHighestInt})}), HasSubstr("exceed"));
}

TEST(Flatten, SplitsTheAxesInTwo) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(first_output("Flatten", {x}).shape(), (Shape{2, 12}));
  EXPECT_EQ(first_output("Flatten", {x}, {{"axis", std::int64_t{0}}}).shape(), (Shape{1, 24}));
  EXPECT_EQ(first_output("Flatten", {x}, {{"axis", std::int64_t{-1}}}).shape(), (Shape{6, 4}));
  EXPECT_EQ(first_output("Flatten", {x}, {{"axis", std::int64_t{3}}}).shape(), (Shape{24, 1}));
}

TEST(Squeeze, DropsNamedAxesOrAllOfExtentOne) {
  const Tensor x = counting({1, 2, 1});
  EXPECT_EQ(first_output("Squeeze", {x}).shape(), Shape{2});
  EXPECT_EQ(first_output("Squeeze", {x, list({-1})}).shape(), (Shape{1, 2}));
  EXPECT_EQ(first_output("Squeeze", {x}, {{"axes", List{0}}}, 11).shape(), (Shape{2, 1}));
  EXPECT_THAT(error_of("Squeeze", {x, list({1})}), HasSubstr("its extent is not 1"));
}

TEST(Unsqueeze, CountsAxesInTheResult) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(first_output("Unsqueeze", {x, list({-1, 0})}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(first_output("Unsqueeze", {x}, {{"axes", List{1}}}, 11).shape(), (Shape{2, 1, 3}));
  EXPECT_THAT(error_of("Unsqueeze", {x, list({0, -4})}), HasSubstr("named twice"));
}

TEST(Expand, KeepsTheLargerExtentOfEither) {
  EXPECT_EQ(first_output("Expand", {reals({2, 1}, {1, 2}), list({3, 1, 2})}),
            reals({3, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(first_output("Expand", {counting({2, 3}), list({1})}), counting({2, 3}));
}

TEST(Tile, RepeatsEachAxis) {
  EXPECT_EQ(first_output("Tile", {reals({1, 2}, {1, 2}), list({2, 2})}), reals({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(first_output("Tile", {reals({2}, {1, 2}), list({0})}), reals({0}, {}));
}

TEST(DepthToSpace, OrdersBlocksAsModeSays) {
  const Tensor x = counting({1, 8, 1, 1});
  EXPECT_EQ(first_output("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}}),
            reals({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(first_output("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}}),
            reals({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SpaceToDepth, UndoesDepthToSpace) {
  const Tensor x = counting({1, 8, 3, 2});
  const Tensor space = first_output("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}});
  EXPECT_EQ(first_output("SpaceToDepth", {space}, {{"blocksize", std::int64_t{2}}}), x);
}

TEST(Trilu, KeepsOneTriangleOfEachMatrix) {
  EXPECT_EQ(first_output("Trilu", {counting({2, 2, 2}, 1)}), reals({2, 2, 2}, {1, 2, 0, 4, 5, 6, 0, 8}));
  EXPECT_EQ(first_output("Trilu", {counting({2, 2}, 1), scalar(DType::int64, -1)}, {{"upper", std::int64_t{0}}}),
            reals({2, 2}, {0, 0, 3, 0}));
}

TEST(Identity, KeepsEverything) {
  EXPECT_EQ(first_output("Identity", {codes(DType::uint8, {1, 2}, {3, 4})}), codes(DType::uint8, {1, 2}, {3, 4}));
}

}  // namespace
}  // namespace assay::reference
