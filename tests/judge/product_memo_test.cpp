#include "harness/judge/enclosures/product_memo.hpp"

#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using core::TensorPtr;

TensorPtr matrix(std::vector<double> values) {
  return std::make_shared<const Tensor>(reals({1, 2}, std::move(values)));
}
TensorPtr column(std::vector<double> values) {
  return std::make_shared<const Tensor>(reals({2, 1}, std::move(values)));
}

class ProductMemoTest : public ::testing::Test {
 protected:
  [[nodiscard]] double product(const TensorPtr& a, const TensorPtr& b, double alpha = 1) {
    model::Node node = model_.graph.nodes[0];
    node.attributes["alpha"] = alpha;
    const auto result = memo_.get(node, 13, {a, b, nullptr});
    EXPECT_TRUE(result) << result.error().message;
    return (*result)->as_real(0);
  }
  ProductMemo memo_{64};

 private:
  model::Model model_ = parse("g (float[1,2] a, float[2,1] b) => (float[1,1] y) { y = Gemm(a, b) }", {});
};

TEST_F(ProductMemoTest, FindsAProductByItsContent) {
  EXPECT_EQ(product(matrix({1, 2}), column({3, 4})), 11);
  EXPECT_EQ(product(matrix({1, 2}), column({3, 4})), 11);
  EXPECT_EQ(memo_.found(), 1U);
  EXPECT_EQ(product(matrix({1, 2}), column({3, 5})), 13);
  EXPECT_EQ(product(matrix({1, 2}), column({3, 4}), 2), 22) << "another attribute";
  EXPECT_EQ(memo_.found(), 1U);
}

TEST_F(ProductMemoTest, KeepsItsOwnCopyOfWhatItIsLent) {
  Tensor lent = reals({1, 2}, {1, 2});
  EXPECT_EQ(product({TensorPtr(), &lent}, column({3, 4})), 11);
  lent.reals()[0] = 10;
  EXPECT_EQ(product({TensorPtr(), &lent}, column({3, 4})), 38);
  EXPECT_EQ(product(matrix({1, 2}), column({3, 4})), 11);
  EXPECT_EQ(memo_.found(), 1U);
}

TEST_F(ProductMemoTest, LetsTheOldestGo) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(product(matrix({1.0 * i, 0}), column({1, 0})), i);
  EXPECT_EQ(product(matrix({19, 0}), column({1, 0})), 19);
  EXPECT_EQ(memo_.found(), 1U);
  EXPECT_EQ(product(matrix({0, 0}), column({1, 0})), 0);
  EXPECT_EQ(memo_.found(), 1U) << "64 elements hold twelve of five";
}

}  // namespace
}  // namespace assay::judge::testing
