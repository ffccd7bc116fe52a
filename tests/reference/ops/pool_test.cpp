#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Tensor kSquare = counting({1, 1, 3, 3}, 1);  // 1 … 9

TEST(MaxPool, TakesTheLargestOfEachWindow) {
  EXPECT_THAT(first_output("MaxPool", {kSquare}, {{"kernel_shape", Ints{2, 2}}}).reals(), ElementsAre(5, 6, 8, 9));
}

TEST(MaxPool, DoesNotCountPaddingAsZero) {
  const Tensor x = reals({1, 1, 3}, {-1, -2, -3});
  EXPECT_THAT(first_output("MaxPool", {x}, {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}}).reals(),
              ElementsAre(-1, -1, -2, -3));
}

TEST(MaxPool, GivesTheIndexOfTheFirstLargestInTheWholeTensor) {
  const Tensor x = reals({1, 2, 4}, {1, 7, 7, 2, 9, 3, 4, 4});
  const auto outputs = run_op("MaxPool", {&x}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT((*outputs)[0].reals(), ElementsAre(7, 7, 9, 4));
  EXPECT_THAT((*outputs)[1].integers(), ElementsAre(1, 2, 4, 6));
}

TEST(MaxPool, CountsIndicesColumnByColumnInStorageOrderOne) {
  const auto outputs =
      run_op("MaxPool", {&kSquare}, {{"kernel_shape", Ints{2, 3}}, {"storage_order", std::int64_t{1}}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT((*outputs)[0].reals(), ElementsAre(6, 9));
  EXPECT_THAT((*outputs)[1].integers(), ElementsAre(7, 8));  // column 2, rows 1 and 2
}

TEST(MaxPool, DilatesAndRoundsUp) {
  const Tensor x = counting({1, 1, 6}, 1);
  EXPECT_THAT(first_output("MaxPool", {x}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}}).reals(),
              ElementsAre(4, 5, 6));
  EXPECT_THAT(
      first_output("MaxPool", {x}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", std::int64_t{1}}})
          .reals(),
      ElementsAre(3, 5, 6));
}

TEST(MaxPool, WorksOnCodesAndKeepsNaN) {
  const Tensor codes_in = codes(DType::int8, {1, 1, 2}, {-128, -5});
  EXPECT_THAT(first_output("MaxPool", {codes_in}, {{"kernel_shape", Ints{2}}}).integers(), ElementsAre(-5));
  const Tensor x = reals({1, 1, 3}, {1, std::nan(""), 5});
  EXPECT_TRUE(std::isnan(first_output("MaxPool", {x}, {{"kernel_shape", Ints{3}}}).reals()[0]));
}

TEST(MaxPool, RefusesAWindowOfPaddingAlone) {
  EXPECT_THAT(error_of("MaxPool", {counting({1, 1, 3})}, {{"kernel_shape", Ints{1}}, {"pads", Ints{1, 0}}}),
              HasSubstr("wholly in the padding"));
  EXPECT_THAT(error_of("MaxPool", {counting({1, 1, 3})}), HasSubstr("kernel_shape is missing"));
}

TEST(AveragePool, DividesByTheElementsInsideUnlessPaddingCounts) {
  const Tensor x = reals({1, 1, 3}, {2, 4, 6});
  const Attributes attributes{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_THAT(first_output("AveragePool", {x}, attributes).reals(), ElementsAre(2, 3, 5));
  Attributes including = attributes;
  including["count_include_pad"] = std::int64_t{1};
  EXPECT_THAT(first_output("AveragePool", {x}, including).reals(), ElementsAre(1, 3, 5));
}

TEST(AveragePool, NeverCountsWhatCeilModeAdds) {
  // Windows [2 4] and [6 | nothing]: the second one has one element, with and without count_include_pad.
  const Tensor x = reals({1, 1, 3}, {2, 4, 6});
  for (const std::int64_t include : {0, 1}) {
    EXPECT_THAT(first_output("AveragePool", {x},
                             {{"kernel_shape", Ints{2}},
                              {"strides", Ints{2}},
                              {"ceil_mode", std::int64_t{1}},
                              {"count_include_pad", include}})
                    .reals(),
                ElementsAre(3, 6));
  }
}

TEST(AveragePool, DilatesFromOpset19) {
  const Tensor x = counting({1, 1, 4}, 1);
  EXPECT_THAT(first_output("AveragePool", {x}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}}, 19).reals(),
              ElementsAre(2, 3));
}

TEST(GlobalAveragePool, AveragesEachPlane) {
  const Tensor y = first_output("GlobalAveragePool", {reals({1, 2, 1, 3}, {1, 2, 6, -1, -2, -6})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1}));
  EXPECT_THAT(y.reals(), ElementsAre(3, -3));
}

TEST(GlobalMaxPool, TakesTheLargestOfEachPlane) {
  const Tensor y = first_output("GlobalMaxPool", {reals({1, 2, 1, 3}, {1, 2, 6, -1, -2, -6})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1}));
  EXPECT_THAT(y.reals(), ElementsAre(6, -1));
}

TEST(GlobalMaxPool, RefusesAnEmptyPlane) {
  EXPECT_THAT(error_of("GlobalMaxPool", {counting({1, 2, 0})}), HasSubstr("leaves nothing to pool"));
}

TEST(LpPool, TakesTheNormOfEachWindow) {
  const Tensor x = reals({1, 1, 4}, {3, -4, 0, 12});
  const Attributes pairs{{"kernel_shape", std::vector<std::int64_t>{2}}, {"strides", std::vector<std::int64_t>{2}}};
  EXPECT_THAT(first_output("LpPool", {x}, pairs, 18).reals(), ElementsAre(5, 12));
  Attributes sums = pairs;
  sums["p"] = std::int64_t{1};
  EXPECT_THAT(first_output("LpPool", {x}, sums, 18).reals(), ElementsAre(7, 12));
}

TEST(GlobalLpPool, TakesTheNormOfEachPlane) {
  EXPECT_EQ(first_output("GlobalLpPool", {reals({1, 2, 2}, {3, -4, 5, 12})}), reals({1, 2, 1}, {5, 13}));
}

}  // namespace
}  // namespace assay::reference
