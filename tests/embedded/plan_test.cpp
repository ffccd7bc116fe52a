#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

State planned(const model::Model& model, const converters::Options& options = {}) {
  auto state = state_of(model, make_feed(model, 1), options);
  const auto done = run_until(state, "plan");
  EXPECT_TRUE(done) << done.error().message;
  return state;
}

const NodePlan& plan_of(const State& state, std::string_view node) {
  for (std::size_t i = 0; i < state.model.graph.nodes.size(); ++i) {
    if (state.model.graph.nodes[i].name == node) return state.plan.nodes[i];
  }
  ADD_FAILURE() << "no node " << node;
  return state.plan.nodes.front();
}

model::Model conv_relu(const char* extra_output = "") {
  return make_model(std::string("agraph (float[1,2,4,3] x) => (float[1,3,4,3] y") + extra_output +
                        ") {\n c = Conv (x, w)\n y = Relu (c)\n}",
                    {{"w", drawn({3, 2, 1, 1}, 1)}});
}

TEST(Plan, AReluBehindAConvJoinsIt) {
  const auto state = planned(conv_relu());
  EXPECT_TRUE(plan_of(state, "c").feeds_activation);
  EXPECT_THAT(state.plan.quantized, UnorderedElementsAre("x", "y"));
}

TEST(Plan, AConvWhoseOutputIsReadElsewhereKeepsItsOwnParameters) {
  const auto state = planned(conv_relu(", float[1,3,4,3] c"));
  EXPECT_FALSE(plan_of(state, "c").feeds_activation);
  EXPECT_THAT(state.plan.quantized, UnorderedElementsAre("x", "c", "y"));
}

TEST(Plan, MovingOperatorsShareParametersThroughAChain) {
  const auto state = planned(make_model(R"(agraph (float[1,2,4,6] x) => (float[48] y) {
      m = MaxPool <kernel_shape=[1,1]> (x)
      t = Transpose (m)
      y = Reshape (t, s)
    })",
                                        {{"s", ints({1}, {48})}}));
  EXPECT_EQ(state.plan.shares.at("m"), "x");
  EXPECT_EQ(state.plan.shares.at("t"), "m");
  EXPECT_EQ(state.plan.shares.at("y"), "t");
}

TEST(Plan, PadSharesOnlyWhereItsValueIsZero) {
  for (const double value : {0.0, 7.0}) {
    const auto state = planned(make_model("agraph (float[1,2] x) => (float[1,4] y) {\n y = Pad (x, p, v)\n}",
                                          {{"p", ints({4}, {0, 1, 0, 1})}, {"v", floats({}, {value})}}));
    EXPECT_EQ(state.plan.shares.contains("y"), value == 0) << value;
  }
}

TEST(Plan, ConcatCoversItsBranches) {
  const auto state = planned(make_model(R"(agraph (float[1,2] x, float[1,2] z) => (float[1,6] y) {
      y = Concat <axis=1> (x, z, k)
    })",
                                        {{"k", floats({1, 2}, {9, -9})}}));
  EXPECT_THAT(state.plan.covers.at("y"), testing::ElementsAre("x", "z", "k"));
  EXPECT_THAT(state.plan.quantized, UnorderedElementsAre("x", "z", "k", "y"));
}

TEST(Plan, ShapeValuesAreNeverAskedForAScale) {
  const auto state = planned(make_model(R"(agraph (float[2,6] x) => (float[N,M] y) {
      s = Shape (x)
      n = Gather <axis=0> (s, zero)
      t = Concat <axis=0> (n, rest)
      y = Reshape (x, t)
    })",
                                        {{"zero", ints({1}, {0})}, {"rest", ints({1}, {6})}}));
  EXPECT_THAT(state.plan.quantized, UnorderedElementsAre("x", "y"));
  EXPECT_EQ(plan_of(state, "t").form, Form::no_data);
}

TEST(Plan, ANodesNameWinsOverItsOperatorTypeAndThatOverAll) {
  converters::Options options;
  options.precision = {{"*", "fp32"}, {"Relu", "int8"}, {"y", "fp32"}};
  const auto model =
      make_model("agraph (float[2,6] x) => (float[2,6] y) {\n r = Relu (x)\n s = Sigmoid (r)\n y = Relu (s)\n}", {});
  const auto state = planned(model, options);
  EXPECT_EQ(plan_of(state, "r").form, Form::int8);
  EXPECT_EQ(plan_of(state, "s").form, Form::fp32);
  EXPECT_EQ(plan_of(state, "y").form, Form::fp32);
}

TEST(Plan, AFoldedNodesNameStillCounts) {
  const auto model = make_model(
      "agraph (float[1,2,4,3] x) => (float[1,3,4,3] y) {\n c = Conv (x, w)\n"
      " y = BatchNormalization (c, g, g, g, g)\n}",
      {{"w", drawn({3, 2, 1, 1}, 1)}, {"g", floats({3}, {1, 2, 3})}});
  converters::Options options;
  options.precision = {{"y", "int8"}};
  EXPECT_TRUE(plan_of(planned(model, options), "c").required);
  options.precision = {{"y", "fp32"}};  // not folded
  const auto state = planned(model, options);
  EXPECT_EQ(plan_of(state, "c").form, Form::int8);
  EXPECT_EQ(plan_of(state, "y").form, Form::fp32);
}

TEST(Plan, RefusesByNameWhatCannotBeInt8WhereItIsDemanded) {
  const auto model = make_model("agraph (float[2,6] x) => (float[2,6] y) {\n y = CumSum (x, k)\n}",
                                {{"k", core::Tensor(core::DType::int64, {}, std::vector<std::int64_t>{1})}});
  for (const auto* key : {"CumSum", "y", "*"}) {
    converters::Options options;
    options.precision = {{key, "int8"}};
    auto state = state_of(model, make_feed(model, 1), options);
    const auto done = run_until(state, "plan");
    ASSERT_FALSE(done) << key;
    EXPECT_EQ(done.error().kind, core::ErrorKind::unsupported);
    EXPECT_EQ(done.error().node, "y");
    EXPECT_EQ(done.error().op, "CumSum");
    EXPECT_THAT(done.error().message, HasSubstr("no INT8 form"));
  }
  converters::Options allowed;
  allowed.precision = {{"CumSum", "int8?"}};
  EXPECT_EQ(plan_of(planned(model, allowed), "y").form, Form::fp32);
  EXPECT_EQ(plan_of(planned(model), "y").form, Form::fp32) << "float fallback is the default without an INT8 form";
}

TEST(Plan, WeightAxesFollowTheOperator) {
  struct Row {
    const char* node;
    core::Shape x, w;
    std::optional<std::int64_t> axis;
  };
  for (const auto& row : std::vector<Row>{{"Conv (x, w)", {1, 2, 4, 3}, {3, 2, 1, 1}, 0},
                                          {"ConvTranspose (x, w)", {1, 2, 4, 3}, {2, 5, 1, 1}, 1},
                                          {"Gemm (x, w)", {2, 3}, {3, 4}, 1},
                                          {"Gemm <transB=1> (x, w)", {2, 3}, {4, 3}, 0},
                                          {"MatMul (x, w)", {2, 3}, {3, 4}, 1},
                                          {"MatMul (w, x)", {3, 2}, {4, 3}, 0},
                                          {"MatMul (x, w)", {2, 3}, {3}, std::nullopt}}) {
    const auto model =
        make_model("agraph (float" + core::shape_text(row.x) + " x) => (float[A,B] y) {\n y = " + row.node + "\n}",
                   {{"w", drawn(row.w, 3)}});
    auto state = state_of(model, make_feed(model, 1));
    ASSERT_TRUE(run_until(state, "plan")) << row.node;
    EXPECT_EQ(state.plan.nodes[0].axis, row.axis) << row.node;
  }
}

TEST(Plan, TheStepsOfALayerNormalizationStayInFloat) {
  const auto state = planned(make_model(R"(agraph (float[3,8] x) => (float[3,8] y) {
      u = ReduceMean <axes=[-1]> (x)
      d = Sub (x, u)
      q = Pow (d, two)
      v = ReduceMean <axes=[-1]> (q)
      e = Add (v, eps)
      r = Sqrt (e)
      n = Div (d, r)
      y = Mul (n, g)
    })",
                                        {{"two", floats({}, {2})}, {"eps", floats({}, {1e-5})}, {"g", drawn({8}, 3)}}));
  for (const auto* node : {"q", "v", "e", "r", "n"}) EXPECT_EQ(plan_of(state, node).form, Form::fp32) << node;
  for (const auto* node : {"u", "d", "y"}) EXPECT_EQ(plan_of(state, node).form, Form::int8) << node;
}

}  // namespace
}  // namespace assay::embedded
