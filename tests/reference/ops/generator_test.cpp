#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLarge = std::int64_t{1} << 40U;

TEST(Constant, TakesEveryFormOfValue) {
  EXPECT_EQ(first_output("Constant", {}, {{"value", std::make_shared<const Tensor>(reals({1, 2}))}}), reals({1, 2}));
  EXPECT_EQ(first_output("Constant", {}, {{"value_float", 1.5}}), scalar(1.5));
  EXPECT_EQ(first_output("Constant", {}, {{"value_int", std::int64_t{-3}}}), scalar(DType::int64, -3));
  EXPECT_EQ(first_output("Constant", {}, {{"value_floats", std::vector<double>{1, 2}}}), reals({1, 2}));
  EXPECT_EQ(first_output("Constant", {}, {{"value_ints", std::vector<std::int64_t>{4}}}),
            codes(DType::int64, {1}, {4}));
  EXPECT_THAT(error_of("Constant", {}, {{"value_string", std::string("a")}}), HasSubstr("strings"));
}

TEST(ConstantOfShape, DefaultsToAFloatZero) {
  EXPECT_EQ(first_output("ConstantOfShape", {codes(DType::int64, {2}, {1, 2})}), reals({1, 2}, {0, 0}));
  EXPECT_EQ(first_output("ConstantOfShape", {codes(DType::int64, {0}, {})}), reals({}, {0}));
  EXPECT_EQ(first_output("ConstantOfShape", {codes(DType::int64, {1}, {2})},
                         {{"value", std::make_shared<const Tensor>(codes(DType::int8, {1}, {7}))}}),
            codes(DType::int8, {2}, {7, 7}));
}

TEST(Shape, ClampsStartAndEnd) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(first_output("Shape", {x}, {{"start", std::int64_t{-9}}, {"end", std::int64_t{-1}}}),
            codes(DType::int64, {2}, {2, 3}));
  EXPECT_EQ(first_output("Shape", {x}, {{"start", std::int64_t{2}}, {"end", std::int64_t{1}}}),
            codes(DType::int64, {0}, {}));
  EXPECT_EQ(first_output("Size", {x}), scalar(DType::int64, 24));
}

TEST(Range, StopsBeforeTheLimit) {
  EXPECT_EQ(first_output("Range", {scalar(1.0), scalar(2.0), scalar(0.25)}), reals({1, 1.25, 1.5, 1.75}));
  const auto integer = [](std::int64_t value) { return scalar(DType::int32, value); };
  EXPECT_EQ(first_output("Range", {integer(10), integer(3), integer(-3)}), codes(DType::int32, {3}, {10, 7, 4}));
  EXPECT_EQ(first_output("Range", {integer(3), integer(10), integer(-3)}), codes(DType::int32, {0}, {}));
  EXPECT_THAT(error_of("Range", {integer(3), integer(10), integer(0)}), HasSubstr("in steps of 0"));
}

TEST(EyeLike, PlacesTheDiagonal) {
  EXPECT_EQ(first_output("EyeLike", {counting({2, 3})}, {{"k", std::int64_t{1}}}), reals({2, 3}, {0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(first_output("EyeLike", {counting({1, 1})}, {{"dtype", std::int64_t{3}}}), codes(DType::int8, {1, 1}, {1}));
}

TEST(HostileSizes, AreErrorsBeforeAnythingIsAllocated) {
  const Tensor large = codes(DType::int64, {1}, {kLarge});
  const Tensor square = codes(DType::int64, {2}, {kLarge, kLarge});
  EXPECT_THAT(error_of("ConstantOfShape", {square}), HasSubstr("exceed the limit"));
  EXPECT_THAT(error_of("ConstantOfShape", {codes(DType::int64, {2}, {0, kLarge})}), HasSubstr("exceed the limit"));
  EXPECT_THAT(error_of("ConstantOfShape", {codes(DType::int64, {1}, {-1})}), HasSubstr("negative"));
  EXPECT_THAT(error_of("Expand", {reals({1.0}), large}), HasSubstr("exceed the limit"));
  EXPECT_THAT(error_of("Expand", {reals({1, 1}, {1.0}), square}), HasSubstr("exceed the limit"));
  EXPECT_THAT(error_of("Tile", {reals({1.0, 2.0}), large}), HasSubstr("exceed the limit"));
  EXPECT_THAT(error_of("Range", {scalar(0.0), scalar(1e30), scalar(1.0)}), HasSubstr("no range goes from"));
  EXPECT_THAT(error_of("Range", {scalar(0.0), scalar(std::numeric_limits<double>::quiet_NaN()), scalar(1.0)}),
              HasSubstr("no range goes from"));
  EXPECT_THAT(error_of("OneHot", {scalar(DType::int64, 0), large, reals({0, 1})}), HasSubstr("not a possible extent"));
  EXPECT_THAT(error_of("Add", {Tensor::zeros(DType::uint8, {1 << 20, 1}), Tensor::zeros(DType::uint8, {1, 1 << 20})}),
              HasSubstr("exceed the limit"));
}

}  // namespace
}  // namespace assay::reference
