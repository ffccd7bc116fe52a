#include "harness/judge/alignment/decomposed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using ::testing::ElementsAre;
using testing::parse;
using testing::reals;
using Numbers = std::map<std::string, core::Tensor>;

std::shared_ptr<const OriginalForm> form_of(const std::string& io, const std::string& original, const Numbers& ours,
                                            const std::string& made, const Numbers& theirs) {
  return decomposed(parse("g " + io + " { " + original + " }", ours),
                    std::make_shared<const model::Model>(parse("a " + io + " { " + made + " }", theirs)));
}
std::vector<std::string> operator_types(const OriginalForm& form) {
  std::vector<std::string> names;
  for (const model::Node& node : form.model.graph.nodes) names.push_back(node.op_type);
  return names;
}
std::vector<double> constant_of(const OriginalForm& form, std::size_t node, std::size_t input) {
  return form.model.graph.initializer(form.model.graph.nodes[node].input(input))->to_reals();
}

// Two channels: 2x + 1 and 3(x − 0.5) − 1.
const Numbers kNumbersOfIt{
    {"g", reals({2}, {2, 3})}, {"b", reals({2}, {1, -1})}, {"m", reals({2}, {0, 0.5})}, {"v", reals({2}, {1, 1})}};
const std::string kWhole = "y = BatchNormalization<epsilon=0.0>(x, g, b, m, v)";
const std::string kPicture = "(float[1,2,3,2] x) => (float[1,2,3,2] y)", kRow = "(float[1,2] x) => (float[1,2] y)";

TEST(Decomposed, ABatchNormalizationIsAMulAndAnAdd) {
  const Numbers theirs{{"k", reals({1, 2, 1, 1}, {2, 3})}, {"c", reals({2, 1, 1}, {1, -2.5})}};
  const auto form = form_of(kPicture, kWhole, kNumbersOfIt, "t = Mul(x, k) y = Add(t, c)", theirs);
  ASSERT_NE(form, nullptr);
  EXPECT_THAT(operator_types(*form), ElementsAre("Mul", "Add"));
  EXPECT_EQ(form->model.graph.nodes[0].outputs.front(), "t") << "by the artifact's name";
  EXPECT_THAT(constant_of(*form, 0, 1), ElementsAre(2, 3));
  EXPECT_THAT(constant_of(*form, 1, 1), ElementsAre(1, -2.5));
}

TEST(Decomposed, TheConstantsAreWhatTheOriginalAsksFor) {
  const Numbers wrong{{"k", reals({2, 1, 1}, {2, 4})}, {"c", reals({2, 1, 1}, {1, 0})}};
  const auto form = form_of(kPicture, kWhole, kNumbersOfIt, "t = Mul(x, k) y = Add(t, c)", wrong);
  ASSERT_NE(form, nullptr);
  EXPECT_THAT(constant_of(*form, 0, 1), ElementsAre(2, 3)) << "not the artifact's";
  EXPECT_THAT(constant_of(*form, 1, 1), ElementsAre(1, -2.5));
}

TEST(Decomposed, ABatchNormalizationAlongAnotherAxisIsNone) {
  const Numbers last{{"k", reals({2}, {2, 3})}, {"c", reals({2}, {1, -2.5})}};
  EXPECT_EQ(form_of(kPicture, kWhole, kNumbersOfIt, "t = Mul(x, k) y = Add(t, c)", last), nullptr)
      << "by the width, which has two elements as well";
}

TEST(Decomposed, AGemmIsAMatMulAndAnAdd) {
  const Numbers ours{{"w", reals({2, 2}, {1, 2, 4, 8})}, {"c", reals({2}, {3, 5})}};
  const Numbers theirs{{"w", reals({2, 2}, {0.5, 2, 1, 4})}, {"c", reals({2}, {6, 10})}};
  const auto form =
      form_of(kRow, "y = Gemm<transB=1, alpha=0.5, beta=2.0>(x, w, c)", ours, "t = MatMul(x, w) y = Add(t, c)", theirs);
  ASSERT_NE(form, nullptr);
  EXPECT_THAT(operator_types(*form), ElementsAre("MatMul", "Add"));
  EXPECT_THAT(constant_of(*form, 0, 1), ElementsAre(0.5, 2, 1, 4));
  EXPECT_THAT(constant_of(*form, 1, 1), ElementsAre(6, 10));
}

TEST(Decomposed, ADivIsAMulByTheReciprocalAndASubAnAddOfTheNegative) {
  const Numbers ours{{"k", reals({2}, {2, -4})}};
  const auto product = form_of(kRow, "y = Div(x, k)", ours, "y = Mul(x, c)", {{"c", reals({2}, {0.5, -0.25})}});
  ASSERT_NE(product, nullptr);
  EXPECT_THAT(operator_types(*product), ElementsAre("Mul"));
  EXPECT_THAT(constant_of(*product, 0, 1), ElementsAre(0.5, -0.25));
  const auto sum = form_of(kRow, "y = Sub(x, k)", ours, "y = Add(c, x)", {{"c", reals({2}, {-2, 4})}});
  ASSERT_NE(sum, nullptr);
  EXPECT_THAT(operator_types(*sum), ElementsAre("Add"));
  EXPECT_THAT(constant_of(*sum, 0, 1), ElementsAre(-2, 4));
}

TEST(Decomposed, IsNoneWhereTheOperatorStands) {
  EXPECT_EQ(form_of(kPicture, kWhole, kNumbersOfIt, kWhole, kNumbersOfIt), nullptr);
  EXPECT_EQ(form_of(kRow, "y = Div(x, k)", {{"k", reals({2}, {2, 4})}}, "y = Div(x, k)", {{"k", reals({2}, {2, 4})}}),
            nullptr);
}

}  // namespace
}  // namespace assay::judge
