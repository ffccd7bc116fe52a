#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConvTranspose, SpreadsEachInputOverTheKernel) {
  // x = [1 2], w = [1 10 100], stride 2: 1 10 100 at 0 and 2 20 200 at 2.
  EXPECT_THAT(
      first_output("ConvTranspose", {reals({1, 1, 2}, {1, 2}), reals({1, 1, 3}, {1, 10, 100})}, {{"strides", Ints{2}}})
          .reals(),
      ElementsAre(1, 10, 102, 20, 200));
}

TEST(ConvTranspose, CropsPadsAndFillsOutputPadding) {
  const std::vector<Tensor> inputs{reals({1, 1, 2}, {1, 2}), reals({1, 1, 3}, {1, 10, 100})};
  EXPECT_THAT(first_output("ConvTranspose", inputs, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}}).reals(),
              ElementsAre(10, 102));
  EXPECT_THAT(first_output("ConvTranspose", inputs, {{"strides", Ints{2}}, {"output_padding", Ints{1}}}).reals(),
              ElementsAre(1, 10, 102, 20, 200, 0));
}

TEST(ConvTranspose, TakesWeightsAsInputChannelsByOutputChannels) {
  // One input channel, two output channels.
  const Tensor y =
      first_output("ConvTranspose", {reals({1, 1, 2}, {1, 2}), reals({1, 2, 1}, {3, 5}), reals({100, 200})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
  EXPECT_THAT(y.reals(), ElementsAre(103, 106, 205, 210));
}

TEST(ConvTranspose, KeepsGroupsApart) {
  // Groups {0, 1} and {2, 3} of inputs; each gives one output channel.
  const Tensor x = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor w = reals({4, 1, 1}, {10, 1, 10, 1});
  EXPECT_THAT(first_output("ConvTranspose", {x, w}, {{"group", std::int64_t{2}}}).reals(), ElementsAre(12, 34));
}

TEST(ConvTranspose, GivesTheOutputShapeItIsAskedFor) {
  // 5 elements for 4: the one of padding goes to the beginning (ConvTranspose-11, auto_pad not SAME_UPPER).
  const std::vector<Tensor> inputs{reals({1, 1, 2}, {1, 2}), reals({1, 1, 3}, {1, 10, 100})};
  EXPECT_THAT(first_output("ConvTranspose", inputs, {{"strides", Ints{2}}, {"output_shape", Ints{4}}}).reals(),
              ElementsAre(10, 102, 20, 200));
  EXPECT_THAT(first_output("ConvTranspose", inputs,
                           {{"strides", Ints{2}}, {"output_shape", Ints{4}}, {"auto_pad", std::string("SAME_UPPER")}})
                  .reals(),
              ElementsAre(1, 10, 102, 20));
}

TEST(ConvTranspose, FillsWhatNoInputReachesWithTheBias) {
  const Tensor y = first_output("ConvTranspose", {reals({1, 1, 2}, {1, 2}), reals({1, 1, 1}, {3}), reals({0.5})},
                                {{"strides", Ints{3}}});
  EXPECT_THAT(y.reals(), ElementsAre(3.5, 0.5, 0.5, 6.5));
}

TEST(ConvTranspose, DilatesTheKernel) {
  EXPECT_THAT(
      first_output("ConvTranspose", {reals({1, 1, 2}, {1, 2}), reals({1, 1, 2}, {1, 10})}, {{"dilations", Ints{2}}})
          .reals(),
      ElementsAre(1, 2, 10, 20));
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of("ConvTranspose", {counting({1, 3, 5}), counting({2, 2, 1})}), HasSubstr("expect 2"));
  EXPECT_THAT(error_of("ConvTranspose", {counting({1, 2, 5}), counting({2, 2, 1})}, {{"output_padding", Ints{1}}}),
              HasSubstr("output_padding 1"));
  EXPECT_THAT(error_of("ConvTranspose", {counting({1, 2, 5}), counting({2, 2, 1})}, {{"pads", Ints{3, 3}}}),
              HasSubstr("output extent of -1"));
  EXPECT_THAT(error_of("ConvTranspose", {counting({1, 1, 3, 3}), counting({1, 1, 1, 1})},
                       {{"strides", Ints{1 << 20, 1 << 20}}}),
              HasSubstr("would exceed the limit"));
}

}  // namespace
}  // namespace assay::reference
