#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

/// Boxes [0,0,1,1], [0,0,1,0.5], which share half of their union, and one far away.
Tensor kept(double threshold, const std::vector<Tensor>& more = {}) {
  const Tensor boxes = reals({1, 3, 4}, {0, 0, 1, 1, 1, 0.5, 0, 0, 0, 9, 1, 10});
  const Tensor scores = reals({1, 1, 3}, {0.5, 0.75, 0.25});
  std::vector<Tensor> inputs{boxes, scores, scalar(DType::int64, 3), scalar(threshold)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return first_output("NonMaxSuppression", inputs, {}, 11);
}

TEST(NonMaxSuppression, KeepsABoxAtTheThreshold) {
  EXPECT_EQ(kept(0.5), codes(DType::int64, {3, 3}, {0, 0, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(kept(0.499), codes(DType::int64, {2, 3}, {0, 0, 1, 0, 0, 2}));
}

TEST(NonMaxSuppression, DropsScoresThatAreNotAboveTheirThreshold) {
  EXPECT_EQ(kept(0.5, {scalar(0.5)}), codes(DType::int64, {1, 3}, {0, 0, 1}));
}

TEST(NonMaxSuppression, SelectsNothingByDefault) {
  const Tensor boxes = reals({1, 1, 4}, {0, 0, 1, 1});
  EXPECT_EQ(first_output("NonMaxSuppression", {boxes, reals({1, 1, 1}, {1})}, {}, 11), codes(DType::int64, {0, 3}, {}));
}

TEST(NonMaxSuppression, OfEqualScoresTheEarlierBoxComesFirst) {
  const Tensor boxes = reals({1, 2, 4}, {5, 5, 2, 2, 5, 5, 2, 2});  // center and size
  EXPECT_EQ(first_output("NonMaxSuppression", {boxes, reals({1, 1, 2}, {1, 1}), scalar(DType::int64, 9), scalar(0.9)},
                         {{"center_point_box", std::int64_t{1}}}, 11),
            codes(DType::int64, {1, 3}, {0, 0, 0}));
}

std::vector<Ints> unique(const Tensor& x, const Attributes& attributes) {
  const auto outputs = run_op("Unique", {&x}, attributes, 11, 4);
  std::vector<Ints> lists;
  if (!outputs) ADD_FAILURE() << outputs.error().message;
  for (std::size_t i = 0; outputs && i < 4; ++i) lists.push_back((*outputs)[i].to_integers());
  return lists;
}

TEST(Unique, SortsOrKeepsTheOrderOfFirstOccurrence) {
  const Tensor x = reals({2, 2}, {3, 1, 3, 2});
  EXPECT_EQ(unique(x, {}), (std::vector<Ints>{{1, 2, 3}, {1, 3, 0}, {2, 0, 2, 1}, {1, 1, 2}}));
  EXPECT_EQ(unique(x, {{"sorted", std::int64_t{0}}}),
            (std::vector<Ints>{{3, 1, 2}, {0, 1, 3}, {0, 1, 0, 2}, {2, 1, 1}}));
}

TEST(Unique, ComparesWholeSlicesAlongAnAxis) {
  const Tensor x = reals({2, 3}, {2, 1, 2, 5, 9, 5});  // columns (2,5), (1,9), (2,5)
  EXPECT_EQ(unique(x, {{"axis", std::int64_t{1}}}), (std::vector<Ints>{{1, 2, 9, 5}, {1, 0}, {1, 0, 1}, {1, 2}}));
}

TEST(Unique, RefusesNaN) { EXPECT_THAT(error_of("Unique", {reals({1, std::nan("")})}), HasSubstr("NaN")); }

Attributes vectorizer(const std::string& mode, std::int64_t skips) {
  // The pool: 1-grams 2 and 3, the 2-gram 5 4.
  return {{"mode", mode},
          {"min_gram_length", std::int64_t{1}},
          {"max_gram_length", std::int64_t{2}},
          {"max_skip_count", skips},
          {"ngram_counts", Ints{0, 2}},
          {"ngram_indexes", Ints{1, 0, 3}},
          {"pool_int64s", Ints{2, 3, 5, 4}},
          {"weights", Reals{10, 10, 10}}};
}

TEST(TfIdfVectorizer, CountsGramsWithAndWithoutSkips) {
  const Tensor x = codes(DType::int64, {5}, {5, 2, 4, 5, 4});
  EXPECT_EQ(first_output("TfIdfVectorizer", {x}, vectorizer("TF", 0)), reals({0, 1, 0, 1}));
  EXPECT_EQ(first_output("TfIdfVectorizer", {x}, vectorizer("TF", 1)), reals({0, 1, 0, 2}));  // 5 _ 4 at the start
  EXPECT_EQ(first_output("TfIdfVectorizer", {x}, vectorizer("IDF", 1)), reals({0, 10, 0, 10}));
  EXPECT_EQ(first_output("TfIdfVectorizer", {x}, vectorizer("TFIDF", 1)), reals({0, 10, 0, 20}));
}

TEST(ReverseSequence, TurnsOnlyTheFirstElementsAround) {
  const Tensor x = reals({3, 2}, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(first_output("ReverseSequence", {x, codes(DType::int64, {2}, {2, 3})}).to_reals(),
            (Reals{2, 30, 1, 20, 3, 10}));
}

TEST(Hardmax, MarksTheFirstOfTheLargest) {
  EXPECT_EQ(first_output("Hardmax", {reals({2, 3}, {1, 5, 5, 7, 0, 0})}), reals({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(Det, SwapsRowsForAPivot) {
  EXPECT_EQ(first_output("Det", {reals({2, 2}, {0, 2, 3, 0})}), scalar(-6));
  EXPECT_EQ(first_output("Det", {reals({2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4})}).to_reals(), (Reals{-2, 0}));
}

TEST(Shrink, MovesTowardsZero) {
  const Attributes attributes{{"lambd", 1.5}, {"bias", 1.0}};
  EXPECT_EQ(first_output("Shrink", {reals({-2, -1.5, 1, 2})}, attributes), reals({-1, 0, 0, 1}));
  EXPECT_EQ(first_output("Shrink", {codes(DType::int32, {2}, {-4, 1})}, attributes), codes(DType::int32, {2}, {-3, 0}));
}

TEST(BitwiseNot, StaysInItsType) {
  EXPECT_EQ(first_output("BitwiseNot", {codes(DType::uint8, {2}, {0, 200})}, {}, 18),
            codes(DType::uint8, {2}, {255, 55}));
  EXPECT_EQ(first_output("BitwiseNot", {codes(DType::int8, {2}, {0, -1})}, {}, 18), codes(DType::int8, {2}, {-1, 0}));
}

/// `op` of the bits 0b1100 and 0b1010, and of a negative and a positive int8.
std::vector<Ints> bits(const std::string& op) {
  const Tensor bytes = first_output(op, {codes(DType::uint8, {1}, {12}), codes(DType::uint8, {1}, {10})}, {}, 18);
  const Tensor signs = first_output(op, {codes(DType::int8, {1}, {-4}), codes(DType::int8, {1}, {6})}, {}, 18);
  return {bytes.to_integers(), signs.to_integers()};
}

TEST(BitwiseAnd, KeepsTheBitsOfBoth) { EXPECT_EQ(bits("BitwiseAnd"), (std::vector<Ints>{{8}, {4}})); }
TEST(BitwiseOr, KeepsTheBitsOfEither) { EXPECT_EQ(bits("BitwiseOr"), (std::vector<Ints>{{14}, {-2}})); }
TEST(BitwiseXor, KeepsTheBitsOfOne) { EXPECT_EQ(bits("BitwiseXor"), (std::vector<Ints>{{6}, {-6}})); }

TEST(BitShift, FillsWithTheSignOrWithZeros) {
  const Attributes right{{"direction", std::string("RIGHT")}};
  const Attributes left{{"direction", std::string("LEFT")}};
  const Tensor x = codes(DType::int8, {3}, {-8, -8, 64});
  EXPECT_EQ(first_output("BitShift", {x, codes(DType::int8, {3}, {1, 9, -1})}, right, 28),
            codes(DType::int8, {3}, {-4, -1, 0}));
  EXPECT_EQ(first_output("BitShift", {x, codes(DType::int8, {3}, {1, 9, 1})}, left, 28),
            codes(DType::int8, {3}, {-16, 0, -128}));
}

TEST(BitCast, ReadsTheSameBitsAsAnotherType) {
  const Tensor x = reals({1, -0.0});
  EXPECT_EQ(first_output("BitCast", {x}, {{"to", std::int64_t{6}}}, 26),
            codes(DType::int32, {2}, {0x3F800000, std::numeric_limits<std::int32_t>::min()}));
  EXPECT_EQ(first_output("BitCast", {codes(DType::uint8, {2}, {255, 128})}, {{"to", std::int64_t{3}}}, 26),
            codes(DType::int8, {2}, {-1, -128}));
  EXPECT_THAT(error_of("BitCast", {x}, {{"to", std::int64_t{7}}}, 26), HasSubstr("another size"));
}

TEST(CumProd, LeavesTheElementOutOrRunsFromTheEnd) {
  const Tensor x = reals({2, 3, 4});
  const Tensor axis = scalar(DType::int64, 0);
  EXPECT_EQ(first_output("CumProd", {x, axis}, {}, 26), reals({2, 6, 24}));
  EXPECT_EQ(first_output("CumProd", {x, axis}, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}, 26),
            reals({12, 4, 1}));
}

TEST(Swish, IsHalfOfItsInputWhereAlphaIsZero) {
  EXPECT_EQ(first_output("Swish", {reals({0, 2})}, {{"alpha", 0.0}}, 24), reals({0, 1}));
}

TEST(SwiGLU, MultipliesTheSwishOfItsGate) {
  EXPECT_EQ(first_output("SwiGLU", {reals({0, 2}), reals({7, 3})}, {{"alpha", 0.0}}, 28), reals({0, 3}));
}

TEST(RMSNormalization, DividesByTheRootOfTheMeanSquare) {
  // The mean square of 1 and 7 is 25.
  EXPECT_EQ(
      first_output("RMSNormalization", {reals({1, 2}, {1, 7}), reals({10, 1})}, {{"epsilon", 0.0}}, 23).to_reals(),
      (Reals{2, 1.4}));
}

TEST(MeanVarianceNormalization, TakesTheAxesTogether) {
  const Tensor y = first_output("MeanVarianceNormalization", {reals({2, 1, 1, 2}, {1, 1, 3, 3})}, {}, 13);
  EXPECT_THAT(y.to_reals(), Pointwise(DoubleNear(1e-8), Reals{-1, -1, 1, 1}));
}

}  // namespace
}  // namespace assay::reference
