#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/executor.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

Tensor heads(Shape shape, Reals values) { return reals(std::move(shape), std::move(values)); }

/// Output `index` of Attention on one batch and one head of size 1.
Reals attention(const Reals& q, const Reals& k, const Reals& v, const Tensor* mask, const Attributes& attributes,
                const std::vector<const Tensor*>& more = {}, std::size_t index = 0) {
  const auto extent = [](const Reals& values) { return static_cast<std::int64_t>(values.size()); };
  const Tensor queries = heads({1, 1, extent(q), 1}, q);
  const Tensor keys = heads({1, 1, extent(k), 1}, k);
  const Tensor values = heads({1, 1, extent(v), 1}, v);
  std::vector<const Tensor*> inputs{&queries, &keys, &values, mask};
  inputs.insert(inputs.end(), more.begin(), more.end());
  const auto outputs = run_op("Attention", inputs, attributes, 25, 4);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  return (*outputs)[index].to_reals();
}

TEST(Attention, IsTheMeanOfValuesWhoseKeysAllFitAlike) {
  EXPECT_EQ(attention({1}, {0, 0}, {2, 4}, nullptr, {}), Reals{3});
}

TEST(Attention, WeighsValuesBySoftmaxOfScaledScores) {
  // scores 2 * ln 3 * scale 0.5: weights 3/4 and 1/4.
  const Reals y = attention({2}, {std::log(3.0), 0}, {4, 8}, nullptr, {{"scale", 0.5}});
  EXPECT_THAT(y, Pointwise(DoubleNear(1e-12), Reals{5}));
}

TEST(Attention, BooleanMasksForbidAndARowThatSeesNothingIsZero) {
  const Tensor mask = codes(DType::boolean, {2, 2}, {0, 1, 0, 0});
  EXPECT_EQ(attention({1, 1}, {0, 0}, {2, 4}, &mask, {}), (Reals{4, 0}));
}

TEST(Attention, AShorterMaskForbidsTheRest) {
  const Tensor mask = reals({1, 2}, {0, 0});
  EXPECT_EQ(attention({1}, {0, 0, 0}, {2, 4, 100}, &mask, {}), Reals{3});
}

TEST(Attention, CausalQueriesSeeThePastAndThemselves) {
  const Attributes causal{{"is_causal", std::int64_t{1}}};
  EXPECT_EQ(attention({1, 1}, {0, 0}, {2, 4}, nullptr, causal), (Reals{2, 3}));
  const Tensor past = heads({1, 1, 1, 1}, {0});
  // Behind one key of the past, whose value is 0, the first query sees two keys and the second three.
  EXPECT_EQ(attention({1, 1}, {0, 0}, {2, 4}, nullptr, causal, {&past, &past}), (Reals{1, 2}));
  EXPECT_EQ(attention({1, 1}, {0, 0}, {2, 4}, nullptr, causal, {&past, &past}, 2), (Reals{0, 2, 4}));
}

TEST(Attention, PaddingOfAnOutsideCacheIsNotSeenAndMovesTheCausalFrontier) {
  const Tensor lengths = codes(DType::int64, {1}, {2});
  EXPECT_EQ(attention({1}, {0, 0, 0}, {2, 4, 100}, nullptr, {}, {nullptr, nullptr, &lengths}), Reals{3});
  // Two queries are the last two of two keys; with one key, the first query has none.
  const Attributes causal{{"is_causal", std::int64_t{1}}};
  EXPECT_EQ(attention({1, 1}, {0, 0, 0}, {2, 4, 100}, nullptr, causal, {nullptr, nullptr, &lengths}), (Reals{2, 3}));
  const Tensor one = codes(DType::int64, {1}, {1});
  EXPECT_EQ(attention({1, 1}, {0, 0, 0}, {2, 4, 100}, nullptr, causal, {nullptr, nullptr, &one}), (Reals{0, 2}));
}

TEST(Attention, WindowsBoundBothSides) {
  const Attributes window{{"left_window_size", std::int64_t{0}}, {"right_window_size", std::int64_t{1}}};
  EXPECT_EQ(attention({1, 1, 1}, {0, 0, 0}, {2, 4, 8}, nullptr, window), (Reals{3, 6, 8}));
}

TEST(Attention, ShowsTheScoresThatItsModeNames) {
  const Tensor mask = reals({1, 2}, {1, 0});
  const auto shown = [&](std::int64_t mode) {
    const Attributes attributes{{"softcap", 2.0}, {"qk_matmul_output_mode", mode}};
    return attention({1}, {4, 0}, {0, 0}, &mask, attributes, {}, 3);
  };
  const double capped = 2.0 * std::tanh(2.0);
  EXPECT_EQ(shown(0), (Reals{4, 0}));
  EXPECT_EQ(shown(1), (Reals{capped, 0}));
  EXPECT_EQ(shown(2), (Reals{capped + 1.0, 0}));
  EXPECT_THAT(shown(3), Pointwise(DoubleNear(1e-12),
                                  Reals{1.0 / (1.0 + std::exp(-capped - 1.0)), 1.0 / (1.0 + std::exp(capped + 1.0))}));
}

TEST(Attention, QueryHeadsShareKeyHeadsInOrder) {
  // Rank 3: four query heads, two key heads; the first two queries read value head 0.
  const Tensor q = reals({1, 1, 4}, {1, 1, 1, 1});
  const Tensor kv = reals({1, 1, 2}, {3, 5});
  const Attributes counts{{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}};
  EXPECT_EQ(first_output("Attention", {q, kv, kv}, counts, 23), reals({1, 1, 4}, {3, 3, 5, 5}));
}

TEST(Attention, NamesShapesThatDoNotFit) {
  const Tensor q = reals({1, 1, 1, 2}, {1, 1});
  const Tensor k = reals({1, 1, 1, 1}, {1});
  EXPECT_THAT(error_of("Attention", {q, k, k}, {}, 23), HasSubstr("Q float[1,1,1,2], K float[1,1,1,1]"));
}

TEST(FlexAttention, ModifiesScoresAndProbabilities) {
  // score_mod turns the scores around, prob_mod doubles the probabilities.
  const auto body = [](const std::string& op, const std::string& second, double constant) {
    auto graph = std::make_shared<model::Graph>();
    graph->name = "body";
    graph->inputs = {{.name = "s", .type = DType::float32, .shape = {}}};
    graph->outputs = {{.name = "t", .type = DType::float32, .shape = {}}};
    graph->initializers.emplace(second, std::make_shared<const Tensor>(scalar(constant)));
    Node node;
    node.name = "n";
    node.op_type = op;
    node.inputs = {"s", second};
    node.outputs = {"t"};
    graph->nodes.push_back(node);
    return model::Attribute(model::GraphPtr(graph));
  };
  Node node;
  node.name = "f";
  node.op_type = "FlexAttention";
  node.domain = "ai.onnx.preview";
  node.inputs = {"q", "k", "v"};
  node.outputs = {"y"};
  node.attributes = {{"score_mod", body("Mul", "minus", -1)}, {"prob_mod", body("Mul", "two", 2)}};
  model::Model model;
  model.opsets = {{"", 23}, {"ai.onnx.preview", 1}};
  for (const char* name : {"q", "k", "v"}) {
    model.graph.inputs.push_back({.name = name, .type = DType::float32, .shape = {}});
  }
  model.graph.outputs = {{.name = "y", .type = DType::float32, .shape = {}}};
  model.graph.nodes = {node};
  // Scores ln 3 and 0, turned around: weights 1/4 and 3/4, doubled.
  const auto outputs = execute(model, {{"q", heads({1, 1, 1, 1}, {1})},
                                       {"k", heads({1, 1, 2, 1}, {std::log(3.0), 0})},
                                       {"v", heads({1, 1, 2, 1}, {4, 8})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(outputs->at("y").to_reals(), Pointwise(DoubleNear(1e-12), Reals{14}));
}

/// One head of size 1 over two steps: q 1, 1; k 1, 2; v 3, 4; scale 1.
Reals linear_attention(const std::string& rule, double decay, double beta) {
  const Tensor q = reals({1, 2, 1}, {1, 1});
  const Tensor k = reals({1, 2, 1}, {1, 2});
  const Tensor v = reals({1, 2, 1}, {3, 4});
  const Tensor decays = reals({1, 2, 1}, {decay, decay});
  const Tensor betas = reals({1, 2, 1}, {beta, beta});
  const Attributes attributes{
      {"update_rule", rule}, {"scale", 1.0}, {"q_num_heads", std::int64_t{1}}, {"kv_num_heads", std::int64_t{1}}};
  const auto outputs = run_op("LinearAttention", {&q, &k, &v, nullptr, &decays, &betas}, attributes, 27, 2);
  return outputs ? outputs->front().to_reals() : Reals{};
}

TEST(LinearAttention, UpdatesItsStateByItsRule) {
  EXPECT_EQ(linear_attention("linear", 0, 0), (Reals{3, 11}));
  EXPECT_THAT(linear_attention("gated", std::log(0.5), 0), Pointwise(DoubleNear(1e-12), Reals{3, 9.5}));
  EXPECT_EQ(linear_attention("delta", 0, 1), (Reals{3, -1}));  // 3 + 2 * (4 - 3 * 2)
  // The decay comes first: S = 1.5, then 1.5 + 2 * (4 - 1.5 * 2).
  EXPECT_THAT(linear_attention("gated_delta", std::log(0.5), 1), Pointwise(DoubleNear(1e-12), Reals{3, 3.5}));
}

TEST(RotaryEmbedding, TurnsPairsThatLieApartOrSideBySide) {
  // A quarter turn takes (a, b) to (-b, a); the first row of the caches would leave them.
  const Tensor x = reals({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor cosine = reals({2, 2}, {1, 1, 0, 0});
  const Tensor sine = reals({2, 2}, {0, 0, 1, 1});
  const Tensor position = codes(DType::int64, {1, 1}, {1});
  EXPECT_EQ(first_output("RotaryEmbedding", {x, cosine, sine, position}, {}, 23).to_reals(), (Reals{-3, -4, 1, 2}));
  EXPECT_EQ(
      first_output("RotaryEmbedding", {x, cosine, sine, position}, {{"interleaved", std::int64_t{1}}}, 23).to_reals(),
      (Reals{-2, 1, -4, 3}));
}

TEST(RotaryEmbedding, LeavesWhatLiesBeyondItsDimension) {
  const Tensor x = reals({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor zero = reals({1, 1, 1}, {0});
  const Tensor one = reals({1, 1, 1}, {1});
  EXPECT_EQ(first_output("RotaryEmbedding", {x, zero, one}, {{"rotary_embedding_dim", std::int64_t{2}}}, 23).to_reals(),
            (Reals{-2, 1, 3, 4}));
}

TEST(CausalConvWithState, PutsItsStateInFront) {
  const Tensor x = reals({1, 1, 2}, {3, 5});
  const Tensor weight = reals({1, 1, 3}, {100, 10, 1});
  const Tensor bias = reals({1}, {0.5});
  const Tensor past = reals({1, 1, 2}, {1, 2});
  const auto outputs = run_op("CausalConvWithState", {&x, &weight, &bias, &past}, {}, 27, 2);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].to_reals(), (Reals{123.5, 235.5}));
  EXPECT_EQ((*outputs)[1].to_reals(), (Reals{3, 5}));
  const auto fresh = run_op("CausalConvWithState", {&x, &weight}, {}, 27, 2);
  ASSERT_TRUE(fresh);
  EXPECT_EQ((*fresh)[0].to_reals(), (Reals{3, 35}));
}

TEST(TensorScatter, WrapsAroundOnlyWhereItIsTold) {
  const Tensor cache = reals({2, 3, 1}, {0, 1, 2, 10, 11, 12});
  const Tensor update = reals({2, 2, 1}, {-1, -2, -3, -4});
  const Tensor indices = codes(DType::int64, {2}, {1, 2});
  EXPECT_EQ(first_output("TensorScatter", {cache, update, indices}, {{"mode", std::string("circular")}}, 24).to_reals(),
            (Reals{0, -1, -2, -4, 11, -3}));
  EXPECT_THAT(error_of("TensorScatter", {cache, update, indices}, {}, 24), HasSubstr("write index 2 leaves no room"));
}

}  // namespace
}  // namespace assay::reference
