#include "reference/windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::reference {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::HasSubstr;

Node node_with(std::map<std::string, model::Attribute> attributes) {
  Node node;
  node.attributes = std::move(attributes);
  return node;
}

/// The last axis of windows over one spatial axis.
struct Axis {
  std::int64_t output = 0;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  friend bool operator==(const Axis&, const Axis&) = default;
};

Axis sliding(std::int64_t input, std::int64_t kernel, std::map<std::string, model::Attribute> attributes,
             bool ceil_mode = false) {
  const Result<Windows> w = sliding_windows(node_with(std::move(attributes)), Ints{input}, Ints{kernel}, ceil_mode);
  EXPECT_TRUE(w.ok()) << w.error().message;
  return {w->output[2], w->pad_begin[2], w->pad_end[2]};
}

Axis transposed(std::int64_t input, std::int64_t kernel, std::map<std::string, model::Attribute> attributes,
                std::int64_t opset = 13) {
  const Result<Windows> w = transposed_windows(node_with(std::move(attributes)), Ints{input}, Ints{kernel}, opset);
  EXPECT_TRUE(w.ok()) << w.error().message;
  return {w->output[2], w->pad_begin[2], w->pad_end[2]};
}

TEST(SlidingWindows, FloorTheNumberOfSteps) {
  EXPECT_EQ(sliding(7, 3, {}), (Axis{5, 0, 0}));
  EXPECT_EQ(sliding(8, 3, {{"strides", Ints{2}}}), (Axis{3, 0, 0}));  // floor(5 / 2) + 1
  EXPECT_EQ(sliding(8, 3, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}}), (Axis{5, 1, 2}));
  EXPECT_EQ(sliding(9, 3, {{"dilations", Ints{3}}}), (Axis{3, 0, 0}));  // the kernel spans 7
}

TEST(SlidingWindows, CeilModeAddsAPartialWindow) {
  EXPECT_EQ(sliding(8, 3, {{"strides", Ints{2}}}, true), (Axis{4, 0, 0}));
  EXPECT_EQ(sliding(7, 3, {{"strides", Ints{2}}}, true), (Axis{3, 0, 0}));
}

TEST(SlidingWindows, CeilModeLeavesOutAWindowThatStartsInTheEndPadding) {
  // ceil((2 + 1 + 1 - 1) / 2) + 1 = 3 windows start at -1, 1 and 3; the input ends at 2.
  EXPECT_EQ(sliding(2, 1, {{"strides", Ints{2}}, {"pads", Ints{1, 1}}}, true), (Axis{2, 1, 1}));
}

TEST(SlidingWindows, SameDividesByTheStrideAndPutsTheOddPadWhereTheNameSays) {
  // ceil(7 / 2) = 4 windows of 4 need 10 elements: 3 of padding.
  EXPECT_EQ(sliding(7, 4, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}), (Axis{4, 1, 2}));
  EXPECT_EQ(sliding(7, 4, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}), (Axis{4, 2, 1}));
  EXPECT_EQ(sliding(6, 1, {{"strides", Ints{4}}, {"auto_pad", std::string("SAME_UPPER")}}), (Axis{2, 0, 0}));
}

TEST(SlidingWindows, ValidHasNoPadding) {
  EXPECT_EQ(sliding(7, 3, {{"strides", Ints{3}}, {"auto_pad", std::string("VALID")}}), (Axis{2, 0, 0}));
}

TEST(TransposedWindows, UndoTheStride) {
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}}), (Axis{11, 0, 0}));  // 2 * 4 + 3
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}}), (Axis{8, 1, 2}));
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"output_padding", Ints{1}}}), (Axis{12, 0, 0}));
  EXPECT_EQ(transposed(5, 3, {{"dilations", Ints{2}}}), (Axis{9, 0, 0}));  // 4 + 5
}

TEST(TransposedWindows, OutputShapeDecidesThePads) {
  // 2 * 4 + 3 = 11 elements for 8: 3 of padding, the odd one at the beginning by the text of opset 11.
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"output_shape", Ints{8}}}), (Axis{8, 2, 1}));
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"output_shape", Ints{8}}}, 9), (Axis{8, 1, 2}));
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"output_shape", Ints{13}}}), (Axis{13, 0, 0}));
}

TEST(TransposedWindows, SameMultipliesByTheStride) {
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}), (Axis{10, 0, 1}));
  EXPECT_EQ(transposed(5, 3, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}), (Axis{10, 1, 0}));
  EXPECT_EQ(transposed(5, 1, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}), (Axis{10, 0, 0}));
}

std::string sliding_error(Ints input, Ints kernel, std::map<std::string, model::Attribute> attributes) {
  const Result<Windows> w = sliding_windows(node_with(std::move(attributes)), input, kernel, false);
  return w ? "" : w.error().message;
}

TEST(SlidingWindows, RefuseAttributesThatDoNotFit) {
  EXPECT_THAT(sliding_error({5}, {3}, {{"strides", Ints{0}}}), HasSubstr("strides"));
  EXPECT_THAT(sliding_error({5}, {3}, {{"strides", Ints{1, 1}}}), HasSubstr("has 2 values, expected 1"));
  EXPECT_THAT(sliding_error({5}, {3}, {{"pads", Ints{1}}}), HasSubstr("pads has 1 values, expected 2"));
  EXPECT_THAT(sliding_error({5}, {3}, {{"pads", Ints{-1, 0}}}), HasSubstr("pads"));
  EXPECT_THAT(sliding_error({5}, {7}, {}), HasSubstr("covers 7 elements"));
  EXPECT_THAT(sliding_error({5}, {3}, {{"auto_pad", std::string("SAME")}}), HasSubstr("auto_pad is \"SAME\""));
  EXPECT_THAT(sliding_error({5}, {3}, {{"kernel_shape", Ints{2}}}), HasSubstr("kernel_shape is [2]"));
  EXPECT_THAT(sliding_error({5, 5, 5, 5}, {1, 1, 1, 1}, {}), HasSubstr("4 spatial axes"));
  EXPECT_THAT(sliding_error({5}, {std::int64_t{1} << 62}, {}), HasSubstr("kernel"));
}

TEST(PositionsInside, CountsExactlyThePositionsWhoseTargetExists) {
  for (std::int64_t stride = 1; stride <= 3; ++stride) {
    for (std::int64_t offset = -7; offset <= 7; ++offset) {
      const Range range = positions_inside(6, stride, offset, 5);
      for (std::int64_t i = 0; i < 6; ++i) {
        const std::int64_t target = i * stride + offset;
        EXPECT_EQ(i >= range.begin && i < range.end, target >= 0 && target < 5) << stride << ' ' << offset << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace assay::reference
