#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Tensor kA = reals({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kB = reals({3, 2}, {1, 0, 0, 1, 2, 2});

TEST(Gemm, ScalesProductAndBias) {
  // A·B = [[7, 8], [16, 17]].
  EXPECT_THAT(first_output("Gemm", {kA, kB, reals({1, 2}, {10, 20})}, {{"alpha", 2.0}, {"beta", 0.5}}).reals(),
              ElementsAre(19, 26, 37, 44));
}

TEST(Gemm, TransposesEitherOperand) {
  const Tensor a_transposed = reals({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor b_transposed = reals({2, 3}, {1, 0, 2, 0, 1, 2});
  EXPECT_THAT(
      first_output("Gemm", {a_transposed, b_transposed}, {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}})
          .reals(),
      ElementsAre(7, 8, 16, 17));
}

TEST(Gemm, BroadcastsTheBiasTowardsTheProductOnly) {
  EXPECT_THAT(first_output("Gemm", {kA, kB, scalar(1)}).reals(), ElementsAre(8, 9, 17, 18));
  EXPECT_THAT(first_output("Gemm", {kA, kB, reals({2, 1}, {100, 200})}).reals(), ElementsAre(107, 108, 216, 217));
  EXPECT_THAT(error_of("Gemm", {kA, kB, counting({3})}), HasSubstr("doesn't broadcast to the product's [2,2]"));
  EXPECT_THAT(error_of("Gemm", {kA, kB, counting({1, 2, 2})}), HasSubstr("doesn't broadcast"));
}

TEST(Gemm, RefusesWhatIsNoMatrix) {
  EXPECT_THAT(error_of("Gemm", {counting({2}), kB}), HasSubstr("expected a matrix"));
}

TEST(MatMul, MultipliesMatrices) { EXPECT_THAT(first_output("MatMul", {kA, kB}).reals(), ElementsAre(7, 8, 16, 17)); }

TEST(MatMul, TreatsAVectorAsARowOrAColumn) {
  const Tensor row = first_output("MatMul", {reals({1, 2}), reals({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(row.shape(), (Shape{2}));
  EXPECT_THAT(row.reals(), ElementsAre(7, 10));
  EXPECT_THAT(first_output("MatMul", {reals({2, 2}, {1, 2, 3, 4}), reals({1, 2})}).reals(), ElementsAre(5, 11));
  EXPECT_EQ(first_output("MatMul", {reals({1, 2}), reals({3, 4})}).shape(), (Shape{}));
}

TEST(MatMul, BroadcastsLeadingAxes) {
  const Tensor a = reals({2, 1, 1, 2}, {1, 2, 3, 4});
  const Tensor b = reals({3, 2, 1}, {1, 1, 10, 1, 100, 1});
  const Tensor y = first_output("MatMul", {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 1, 1}));
  EXPECT_THAT(y.reals(), ElementsAre(3, 12, 102, 7, 34, 304));
}

TEST(MatMul, WrapsIntegersIntoTheirType) {
  const Tensor big = codes(DType::int32, {1, 1}, {65536});
  EXPECT_THAT(first_output("MatMul", {big, big}).integers(), ElementsAre(0));
  const Tensor x = codes(DType::int64, {1, 2}, {3, 4});
  EXPECT_THAT(first_output("MatMul", {x, codes(DType::int64, {2, 1}, {5, 6})}).integers(), ElementsAre(39));
}

TEST(MatMul, SumsNothingToZero) {
  EXPECT_THAT(first_output("MatMul", {counting({1, 0}), counting({0, 2})}).reals(), ElementsAre(0, 0));
}

TEST(MatMul, RefusesDepthsThatDiffer) {
  EXPECT_THAT(error_of("MatMul", {kA, kA}), HasSubstr("operands [2,3] and [2,3]: 3 columns don't match 2 rows"));
  EXPECT_THAT(error_of("MatMul", {kA, scalar(1)}), HasSubstr("a scalar has no matrix product"));
}

Tensor einsum(const std::string& equation, const std::vector<Tensor>& inputs) {
  return first_output("Einsum", inputs, {{"equation", equation}});
}

TEST(Einsum, SumsOverWhatTheOutputLeavesOut) {
  EXPECT_THAT(einsum("ij,jk->ik", {kA, kB}).reals(), ElementsAre(7, 8, 16, 17));
  EXPECT_THAT(einsum("ij->j", {kA}).reals(), ElementsAre(5, 7, 9));
  EXPECT_THAT(einsum("ij->", {kA}).reals(), ElementsAre(21));
  EXPECT_THAT(einsum("ji", {kA}).reals(), ElementsAre(1, 4, 2, 5, 3, 6));  // letters in alphabetical order
}

TEST(Einsum, WalksTheDiagonalOfARepeatedIndex) {
  EXPECT_THAT(einsum("ii->i", {reals({2, 2}, {1, 2, 3, 4})}).reals(), ElementsAre(1, 4));
}

TEST(Einsum, BroadcastsTheEllipsis) {
  const Tensor y = einsum("...i, ...i -> ...", {reals({2, 1, 2}, {1, 2, 3, 4}), reals({3, 2}, {1, 1, 10, 1, 100, 1})});
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_THAT(y.reals(), ElementsAre(3, 12, 102, 7, 34, 304));
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  const auto error = [](const std::string& equation, const std::vector<Tensor>& inputs) {
    return error_of("Einsum", inputs, {{"equation", equation}});
  };
  EXPECT_THAT(error("ij,jk->ik", {kA}), HasSubstr("one term for each of 1 inputs"));
  EXPECT_THAT(error("ij,jk->ik", {kA, kA}), HasSubstr("3 long in one operand and 2 in another"));
  EXPECT_THAT(error("ijk->i", {kA}), HasSubstr("does not fit a tensor of rank 2"));
  EXPECT_THAT(error("ij->k", {kA}), HasSubstr("stands in no operand"));
  EXPECT_THAT(error("i1->i", {kA}), HasSubstr("neither a letter"));
}

}  // namespace
}  // namespace assay::reference
