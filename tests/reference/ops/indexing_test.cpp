#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

TEST(Gather, PutsTheIndicesAxesInPlaceOfOne) {
  const Tensor x = counting({2, 3});
  const Tensor indices = codes(DType::int64, {1, 2}, {2, -3});
  EXPECT_EQ(first_output("Gather", {x, indices}, {{"axis", std::int64_t{1}}}), reals({2, 1, 2}, {2, 0, 5, 3}));
  EXPECT_EQ(first_output("Gather", {x, codes(DType::int32, {}, {1})}), reals({3}, {3, 4, 5}));
}

TEST(Gather, NamesAnIndexOutside) {
  EXPECT_THAT(error_of("Gather", {counting({2, 3}), codes(DType::int64, {1}, {2})}),
              HasSubstr("index 2 is outside of extent 2 of axis 0 of float[2,3]"));
  EXPECT_THAT(error_of("Gather", {counting({2, 3}), reals({1.0})}), HasSubstr("expected an integer type"));
}

TEST(GatherElements, ReplacesOneCoordinate) {
  const Tensor x = counting({3, 2});
  const Tensor indices = codes(DType::int64, {2, 2}, {2, 0, -2, 1});
  EXPECT_EQ(first_output("GatherElements", {x, indices}), reals({2, 2}, {4, 1, 2, 3}));
  EXPECT_THAT(error_of("GatherElements", {x, codes(DType::int64, {1, 3}, {0, 0, 0})}), HasSubstr("do not fit"));
  EXPECT_THAT(error_of("GatherElements", {x, codes(DType::int64, {1, 1}, {3})}), HasSubstr("index 3 is outside"));
}

TEST(GatherND, TakesBlocksWithinABatch) {
  const Tensor x = counting({2, 2, 2});
  EXPECT_EQ(first_output("GatherND", {x, codes(DType::int64, {2, 2}, {0, 1, -1, 0})}), reals({2, 2}, {2, 3, 4, 5}));
  EXPECT_EQ(first_output("GatherND", {x, codes(DType::int64, {2, 1}, {1, 0})}, {{"batch_dims", std::int64_t{1}}}),
            reals({2, 2}, {2, 3, 4, 5}));
  EXPECT_THAT(error_of("GatherND", {x, codes(DType::int64, {1, 4}, {0, 0, 0, 0})}), HasSubstr("do not fit"));
}

TEST(ScatterND, CombinesRepeatedIndices) {
  const Tensor x = reals({3}, {1, 1, 1});
  const Tensor indices = codes(DType::int64, {2, 1}, {2, 2});
  EXPECT_EQ(first_output("ScatterND", {x, indices, reals({5, 7})}, {{"reduction", std::string("add")}}, 16),
            reals({1, 1, 13}));
  EXPECT_EQ(first_output("ScatterND", {x, indices, reals({5, 7})}, {{"reduction", std::string("max")}}, 18),
            reals({1, 1, 7}));
  EXPECT_THAT(error_of("ScatterND", {x, indices, reals({5.0})}), HasSubstr("expected the shape [2]"));
  EXPECT_THAT(error_of("ScatterND", {x, indices, reals({5, 7})}, {{"reduction", std::string("mean")}}),
              HasSubstr("expected none, add, mul, min or max"));
}

TEST(ScatterElements, WrapsIntegersItCombines) {
  const Tensor x = codes(DType::uint8, {2}, {250, 3});
  const Tensor indices = codes(DType::int64, {1}, {0});
  EXPECT_EQ(first_output("ScatterElements", {x, indices, codes(DType::uint8, {1}, {10})},
                         {{"reduction", std::string("add")}}, 18),
            codes(DType::uint8, {2}, {4, 3}));
  EXPECT_EQ(first_output("Scatter", {x, indices, codes(DType::uint8, {1}, {10})}, {}, 10),
            codes(DType::uint8, {2}, {10, 3}));
}

TEST(Compress, DropsWhatTheConditionDoesNotReach) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(first_output("Compress", {x, codes(DType::boolean, {2}, {0, 1})}, {{"axis", std::int64_t{1}}}),
            reals({2, 1}, {1, 4}));
  EXPECT_EQ(first_output("Compress", {x, codes(DType::boolean, {5}, {0, 1, 0, 0, 1})}), reals({1, 4}));
  EXPECT_THAT(error_of("Compress", {x, codes(DType::boolean, {3}, {1, 1, 1})}, {{"axis", std::int64_t{0}}}),
              HasSubstr("condition bool[3]"));
}

TEST(NonZero, ListsCoordinatesByAxis) {
  EXPECT_EQ(first_output("NonZero", {reals({2, 2}, {1, 0, 1, 1})}), codes(DType::int64, {2, 3}, {0, 1, 1, 0, 0, 1}));
}

TEST(OneHot, MarksNothingForIndicesOutside) {
  const Tensor indices = codes(DType::int64, {3}, {1, -1, 3});
  EXPECT_EQ(first_output("OneHot", {indices, scalar(DType::int64, 3), reals({-1, 2})}),
            reals({3, 3}, {-1, 2, -1, -1, -1, 2, -1, -1, -1}));
  EXPECT_EQ(
      first_output("OneHot", {indices, scalar(3.0), codes(DType::int8, {2}, {0, 1})}, {{"axis", std::int64_t{0}}}),
      codes(DType::int8, {3, 3}, {0, 0, 0, 1, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace assay::reference
