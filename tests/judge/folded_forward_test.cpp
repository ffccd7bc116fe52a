#include "harness/judge/alignment/folded_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using ::testing::ElementsAre;
using testing::parse;
using testing::reals;
using Numbers = std::map<std::string, core::Tensor>;

// Two channels: 2x + 1 and 3(x − 0.5) − 1.
const Numbers kNormalization{
    {"g", reals({2}, {2, 3})}, {"b", reals({2}, {1, -1})}, {"m", reals({2}, {0, 0.5})}, {"v", reals({2}, {1, 1})}};
const std::string kNormalized = "n = BatchNormalization<epsilon=0.0>(x, g, b, m, v) ";

Numbers with(Numbers numbers) {
  numbers.insert(kNormalization.begin(), kNormalization.end());
  return numbers;
}

std::shared_ptr<const OriginalForm> folded(const std::string& io, const std::string& layer, const Numbers& original,
                                           const std::string& made, const Numbers& theirs,
                                           const std::string& normalized = kNormalized) {
  return folded_forward(parse("g " + io + " { " + normalized + layer + " }", with(original)),
                        std::make_shared<const model::Model>(parse("a " + io + " { " + made + " }", theirs)));
}

const std::string kImage = "(float[1,2,1,1] x) => (float[1,2,1,1] y)", kMatrix = "(float[1,2] x) => (float[1,2] y)";
const Numbers kConv{{"w", reals({2, 2, 1, 1}, {1, 2, 4, 8})}};
const Numbers kMultiplied{{"w", reals({2, 2, 1, 1}, {2.01, 5.98, 8.02, 24})}, {"c", reals({2}, {-4, -16})}};

TEST(FoldedForward, IsAConvWithAnotherWeightAndABias) {
  const auto form = folded(kImage, "y = Conv(n, w)", kConv, "y = Conv(x, w, c)", kMultiplied);
  ASSERT_NE(form, nullptr);
  ASSERT_EQ(form->model.graph.nodes.size(), 1U);
  const model::Node& conv = form->model.graph.nodes.front();
  EXPECT_EQ(conv.inputs.front(), "x");
  EXPECT_THAT(form->model.graph.initializer(conv.input(1))->reals(), ElementsAre(2, 6, 8, 24));
  EXPECT_THAT(form->model.graph.initializer(conv.input(2))->reals(), ElementsAre(1 - 2 * 2.5, 4 - 8 * 2.5));
  EXPECT_GT(form->uncertainty.at(std::string(conv.input(2))), 0) << "folded in float32";
}

TEST(FoldedForward, AGroupReadsItsOwnChannels) {
  const auto form =
      folded(kImage, "y = Conv<group=2>(n, w, c)", {{"w", reals({2, 1, 1, 1}, {1, 2})}, {"c", reals({2}, {10, 20})}},
             "y = Conv<group=2>(x, w, c)", {{"w", reals({2, 1, 1, 1}, {2, 6})}, {"c", reals({2}, {0, 0})}});
  ASSERT_NE(form, nullptr);
  const model::Node& conv = form->model.graph.nodes.front();
  EXPECT_THAT(form->model.graph.initializer(conv.input(1))->reals(), ElementsAre(2, 6));
  EXPECT_THAT(form->model.graph.initializer(conv.input(2))->reals(), ElementsAre(11, 15));
}

TEST(FoldedForward, AGemmCountsTheShiftAlphaTimesAndItsBiasBetaTimes) {
  for (const bool transposed : {false, true}) {
    const std::string attributes = transposed ? "<transB=1, alpha=0.5, beta=2.0>" : "<alpha=0.5, beta=2.0>";
    const auto weight = [&](double a, double b, double c, double d) {
      return transposed ? reals({2, 2}, {a, c, b, d}) : reals({2, 2}, {a, b, c, d});
    };
    const auto form =
        folded(kMatrix, "y = Gemm" + attributes + "(n, w, c)", {{"w", weight(1, 2, 4, 8)}, {"c", reals({2}, {3, 5})}},
               "y = Gemm" + attributes + "(x, w, c)", {{"w", weight(2, 4, 12, 24)}, {"c", reals({2}, {0, 0})}});
    ASSERT_NE(form, nullptr);
    const model::Node& gemm = form->model.graph.nodes.front();
    EXPECT_EQ(form->model.graph.initializer(gemm.input(1))->to_reals(), weight(2, 4, 12, 24).to_reals());
    // 0.5·(1·1 − 2.5·4) = −4.5 and 0.5·(1·2 − 2.5·8) = −9 are added, twice a bias of 3 and 5.
    EXPECT_THAT(form->model.graph.initializer(gemm.input(2))->reals(), ElementsAre(3 - 2.25, 5 - 4.5));
  }
}

TEST(FoldedForward, IsNoneWhereThereIsNoSuchLayer) {
  const Numbers padded{{"w", reals({2, 2, 1, 1}, {2, 6, 8, 24})}};
  EXPECT_EQ(folded(kImage, "y = Conv(n, w)", kConv, "y = Conv(x, w)", kConv), nullptr) << "the weight as it was: lost";
  EXPECT_EQ(folded(kImage, "y = Conv(n, w)", kConv, kNormalized + "y = Conv(n, w)", with(kConv)), nullptr) << "there";
  EXPECT_EQ(folded("(float[1,2,1,1] x) => (float[1,2,3,3] y)", "y = Conv<pads=[1,1,1,1]>(n, w)", kConv,
                   "y = Conv<pads=[1,1,1,1]>(x, w)", padded),
            nullptr)
      << "what is padded with isn't normalized";
  EXPECT_EQ(folded(kImage, "z = Conv(n, w) y = Add(z, n)", kConv, "z = Conv(x, w) y = Add(z, x)", padded), nullptr)
      << "something else reads it";
}

}  // namespace
}  // namespace assay::judge
