#include "converters/embedded/simplify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/embedded/engine/engine.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

using testing::ElementsAre;

std::vector<std::string> ops(const State& state) {
  std::vector<std::string> names;
  for (const auto& node : state.model.graph.nodes) names.push_back(node.op_type);
  return names;
}

State simplified(const model::Model& model) {
  auto state = state_of(model, make_feed(model, 1));
  const auto done = run_until(state, "simplify");
  EXPECT_TRUE(done) << done.error().message;
  return state;
}

/// The simplified graph computes what the original does, to float32's precision.
void expect_same_function(const State& state) {
  const auto expected = engine::run_float(state.original, state.feed[0]);
  const auto actual = engine::run_float(state.model, state.feed[0]);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(actual) << actual.error().message;
  EXPECT_GT(sqnr_db(*expected, *actual), 110);
}

std::map<std::string, core::Tensor> normalization(std::int64_t channels, double variance = 0.5) {
  auto gamma = drawn({channels}, 11).to_reals();
  gamma[0] = -0.7;  // a negative factor turns the channel round
  std::vector<double> variances(static_cast<std::size_t>(channels), variance);
  return {{"g", floats({channels}, gamma)},
          {"be", drawn({channels}, 12)},
          {"mu", drawn({channels}, 13)},
          {"va", floats({channels}, variances)}};
}

TEST(FoldBatchNormalization, MultipliesWeightsAndBiasByHandWorkedFactors) {
  // factor = 6 / sqrt(3.99 + 0.01) = 3; shift = 0.5 - 2 * 3 = -5.5; bias = 1 * 3 - 5.5 = -2.5.
  const auto model = make_model(R"(agraph (float[1,1,2,2] x) => (float[1,1,2,2] y) {
      c = Conv (x, w, b)
      y = BatchNormalization <epsilon=0.01> (c, g, be, mu, va)
    })",
                                {{"w", floats({1, 1, 1, 1}, {4})},
                                 {"b", floats({1}, {1})},
                                 {"g", floats({1}, {6})},
                                 {"be", floats({1}, {0.5})},
                                 {"mu", floats({1}, {2})},
                                 {"va", floats({1}, {3.99})}});
  const auto state = simplified(model);
  ASSERT_THAT(ops(state), ElementsAre("Conv"));
  const auto& conv = state.model.graph.nodes[0];
  EXPECT_NEAR(state.model.graph.initializer(conv.inputs[1])->as_real(0), 12, 1e-5);
  EXPECT_NEAR(state.model.graph.initializer(conv.inputs[2])->as_real(0), -2.5, 1e-5);
  EXPECT_EQ(conv.outputs[0], "y");
  EXPECT_EQ(state.computed_by.at("y"), conv.name) << "the Conv computes the BatchNormalization now";
}

TEST(FoldBatchNormalization, FollowsTheOutputChannelsOfEveryOperator) {
  struct Row {
    const char* node;
    core::Shape weight;
    std::int64_t channels;
    const char* shape;
  };
  for (const auto& row : std::vector<Row>{
           {"Conv (x, w)", {6, 4, 3, 2}, 6, "[2,4,7,5]"},
           {"Conv <group=4> (x, w)", {8, 1, 3, 2}, 8, "[2,4,7,5]"},
           {"Conv <group=2> (x, w, b)", {6, 2, 1, 1}, 6, "[2,4,7,5]"},
           {"ConvTranspose <strides=[2,2]> (x, w)", {4, 3, 2, 2}, 3, "[2,4,7,5]"},
           {"ConvTranspose <group=2> (x, w, b)", {4, 3, 2, 2}, 6, "[2,4,7,5]"},
           {"Gemm <transB=1> (x, w, b)", {5, 4}, 5, "[3,4]"},
           {"Gemm <alpha=0.5, beta=2.0> (x, w, b)", {4, 5}, 5, "[3,4]"},
       }) {
    auto constants = normalization(row.channels, 1e-6);
    constants["w"] = drawn(row.weight, 7);
    constants["b"] = drawn({row.channels}, 8);
    const auto model =
        make_model(std::string("agraph (float") + row.shape + " x) => (float[a,b,c,d] y) {\n c = " + row.node +
                       "\n y = BatchNormalization (c, g, be, mu, va)\n}",
                   constants);
    const auto state = simplified(model);
    EXPECT_EQ(state.model.graph.nodes.size(), 1U) << row.node;
    SCOPED_TRACE(row.node);
    expect_same_function(state);
  }
}

TEST(FoldBatchNormalization, LeavesAConvWithOtherReadersAlone) {
  auto constants = normalization(3);
  constants["w"] = drawn({3, 2, 1, 1}, 7);
  const auto state = simplified(make_model(R"(agraph (float[1,2,4,3] x) => (float[1,3,4,3] y, float[1,3,4,3] z) {
      c = Conv (x, w)
      y = BatchNormalization (c, g, be, mu, va)
      z = Relu (c)
    })",
                                           constants));
  EXPECT_THAT(ops(state), ElementsAre("Conv", "BatchNormalization", "Relu"));
}

TEST(FoldBatchNormalization, GivesSharedWeightsAFoldedCopy) {
  auto constants = normalization(3);
  constants["w"] = drawn({3, 2, 1, 1}, 7);
  const auto state = simplified(make_model(R"(agraph (float[1,2,4,3] x) => (float[1,3,4,3] y, float[1,3,4,3] z) {
      c = Conv (x, w)
      y = BatchNormalization (c, g, be, mu, va)
      z = Conv (x, w)
    })",
                                           constants));
  EXPECT_THAT(ops(state), ElementsAre("Conv", "Conv"));
  expect_same_function(state);
}

TEST(FoldChannelAddends, MakesAConstantPerChannelTheBias) {
  for (const auto& row : std::vector<std::pair<const char*, core::Shape>>{{"y = Add (c, k)", {1, 3, 1, 1}},
                                                                          {"y = Add (k, c)", {3, 1, 1}}}) {
    const auto state = simplified(make_model(
        std::string("agraph (float[1,2,4,3] x) => (float[1,3,4,3] y) {\n c = Conv (x, w, b)\n ") + row.first + "\n}",
        {{"w", drawn({3, 2, 1, 1}, 7)}, {"b", drawn({3}, 8)}, {"k", drawn(row.second, 9)}}));
    EXPECT_THAT(ops(state), ElementsAre("Conv")) << row.first;
    EXPECT_EQ(state.computed_by.at("y"), "c");
    expect_same_function(state);
  }
}

TEST(FoldChannelAddends, LeavesWhatIsAskedForInFloat) {
  const auto model = make_model(R"(agraph (float[1,2,3,3] x) => (float[1,2,3,3] y) {
      c = Conv (x, w)
      y = Add (c, a)
    })",
                                {{"w", drawn({2, 2, 1, 1}, 1)}, {"a", drawn({2, 1, 1}, 2)}});
  for (const char* key : {"Add", "y", "*"}) {
    auto state = state_of(model, make_feed(model, 1));
    state.options.precision = {{key, "fp32"}};
    ASSERT_TRUE(run_until(state, "simplify"));
    EXPECT_THAT(ops(state), ElementsAre("Conv", "Add")) << key;
  }
}

TEST(FoldChannelAddends, LeavesWhatIsNotOneValuePerChannel) {
  for (const core::Shape& shape : std::vector<core::Shape>{{3}, {1, 1, 1, 3}, {2, 3, 1, 1}, {1, 3, 4, 3}, {1}}) {
    const auto state =
        simplified(make_model("agraph (float[1,2,4,3] x) => (float[N,3,4,3] y) {\n c = Conv (x, w)\n y = Add (c, k)\n}",
                              {{"w", drawn({3, 2, 1, 1}, 7)}, {"k", drawn(shape, 9)}}));
    EXPECT_THAT(ops(state), ElementsAre("Conv", "Add")) << core::shape_text(shape);
  }
}

TEST(RemoveIdentities, KeepsOutputNames) {
  const auto state = simplified(make_model(R"(agraph (float[1,2] x) => (float[1,2] y, float[1,2] z) {
      a = Identity (x)
      r = Relu (a)
      d = Dropout (r)
      y = Identity (d)
      z = Identity (x)
    })",
                                           {}));
  EXPECT_THAT(ops(state), ElementsAre("Relu", "Identity")) << "an input that is an output as well needs its node";
  expect_same_function(state);
}

TEST(FoldConstants, ComputesWhatDependsOnConstantsOnly) {
  const auto state = simplified(make_model(R"(agraph (float[2,3] x) => (float[3,2] y) {
      s = Concat <axis=0> (a, b)
      y = Reshape (x, s)
    })",
                                           {{"a", ints({1}, {3})}, {"b", ints({1}, {2})}}));
  EXPECT_THAT(ops(state), ElementsAre("Reshape"));
  EXPECT_FALSE(state.computed_by.contains("s"));
  expect_same_function(state);
}

TEST(FoldConstants, GivesReadersOfAConstantOutputAConstant) {
  const auto model = make_model(R"(agraph (float[2,3] x) => (float[2,4] y, float[3,4] v) {
      v = Transpose <perm=[1,0]> (w)
      y = MatMul (x, v)
    })",
                                {{"w", drawn({4, 3}, 1)}});
  const auto state = simplified(model);
  ASSERT_THAT(ops(state), ElementsAre("Transpose", "MatMul"));
  EXPECT_NE(state.model.graph.initializer(state.model.graph.nodes[1].inputs[1]), nullptr);
  expect_same_function(state);
}

TEST(FoldConstants, GivesReadersOfAnOutputBesideAConstantOneAConstantToo) {
  const auto state = simplified(make_model(R"(agraph (float[1,3] x) => (float[1,3] y, float[1,3] a) {
      a, b = Split <axis=0> (w)
      y = Add (x, b)
    })",
                                           {{"w", drawn({2, 3}, 1)}}));
  ASSERT_THAT(ops(state), ElementsAre("Split", "Add"));
  const auto& graph = state.model.graph;
  EXPECT_NE(graph.initializer(graph.nodes[1].inputs[1]), nullptr);
  EXPECT_EQ(graph.initializer("b"), nullptr) << "the Split still makes it";
  expect_same_function(state);
}

TEST(FoldConstants, LeavesQuantizedWeightsAsCodes) {
  const auto state =
      simplified(make_model(R"(agraph (float[1,2,3,3] x) => (float[1,2,3,3] y) {
      q = QuantizeLinear <axis=0> (w, s, z)
      d = DequantizeLinear <axis=0> (q, s, z)
      y = Conv (x, d)
    })",
                            {{"w", drawn({2, 2, 1, 1}, 4)},
                             {"s", floats({2}, {0.02, 0.03})},
                             {"z", core::Tensor(core::DType::int8, {2}, std::vector<std::int64_t>{0, 0})}}));
  EXPECT_THAT(ops(state), ElementsAre("DequantizeLinear", "Conv"));
  expect_same_function(state);
}

TEST(RecognizeHardSwish, FindsEveryWayOfWritingIt) {
  for (const auto* body : {"h = HardSigmoid <alpha=0.1666667, beta=0.5> (x)\n y = Mul (x, h)",
                           "h = HardSigmoid <alpha=0.1666667, beta=0.5> (x)\n y = Mul (h, x)",
                           "p = Add (x, three)\n c = Clip (p, zero, six)\n d = Div (c, six)\n y = Mul (x, d)",
                           "p = Add (three, x)\n c = Clip (p, zero, six)\n d = Mul (c, sixth)\n y = Mul (d, x)",
                           "p = Add (x, three)\n c = Clip (p, zero, six)\n d = Mul (x, c)\n y = Div (d, six)",
                           "p = Add (x, three)\n c = Clip (p, zero, six)\n d = Mul (c, x)\n y = Mul (sixth, d)"}) {
    const auto model = make_model(std::string("agraph (float[3,4] x) => (float[3,4] y) {\n") + body + "\n}",
                                  {{"three", floats({}, {3})},
                                   {"zero", floats({}, {0})},
                                   {"six", floats({}, {6})},
                                   {"sixth", floats({}, {1.0 / 6})}});
    const auto state = simplified(model);
    EXPECT_THAT(ops(state), ElementsAre("HardSwish")) << body;
    EXPECT_EQ(state.model.opset(), 14);
    for (const auto& node : state.original.graph.nodes) {
      EXPECT_EQ(state.computed_by.at(node.name), "y") << body << ": " << node.name;
    }
    SCOPED_TRACE(body);
    expect_same_function(state);
  }
}

TEST(RecognizeHardSwish, KeepsAPatternThatSomebodyElseReads) {
  const auto state = simplified(make_model(R"(agraph (float[3,4] x) => (float[3,4] y, float[3,4] h) {
      h = HardSigmoid <alpha=0.1666667, beta=0.5> (x)
      y = Mul (x, h)
    })",
                                           {}));
  EXPECT_THAT(ops(state), ElementsAre("HardSigmoid", "Mul"));
}

TEST(RecognizeHardSwish, KeepsWhatIsAskedForInFloat) {
  const auto model = make_model(R"(agraph (float[2,3] x) => (float[2,3] y) {
      h = HardSigmoid <alpha=0.16666667, beta=0.5> (x)
      y = Mul (x, h)
    })",
                                {});
  for (const char* key : {"Mul", "h"}) {
    auto state = state_of(model, make_feed(model, 1));
    state.options.precision = {{key, "fp32"}};
    ASSERT_TRUE(run_until(state, "simplify"));
    EXPECT_THAT(ops(state), ElementsAre("HardSigmoid", "Mul")) << key;
  }
}

TEST(RecognizeHardSwish, KeepsAnotherSlope) {
  const auto state = simplified(make_model(R"(agraph (float[3,4] x) => (float[3,4] y) {
      h = HardSigmoid <alpha=0.2, beta=0.5> (x)
      y = Mul (x, h)
    })",
                                           {}));
  EXPECT_THAT(ops(state), ElementsAre("HardSigmoid", "Mul"));
}

}  // namespace
}  // namespace assay::embedded
