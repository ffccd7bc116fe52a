// What a conversion does around the branches of an If.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/upgrade.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded::branches {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A Conv that both branches of an If read, beside its own reader.
model::Model branching() {
  return make_model(R"(agraph (float[1,2,4,4] x, bool[1] chosen) => (float[1,2,4,4] y, float[1,2,4,4] z) {
      c = Conv (x, w)
      i = Identity (c)
      y = If (chosen) <then_branch = t () => (float[1,2,4,4] a) { a = Conv (i, w) },
                       else_branch = f () => (float[1,2,4,4] b) { b = Tanh (i) }>
      z = Relu (c)
    })",
                    {{"w", drawn({2, 2, 1, 1}, 5)}}, 16);
}

/// Both branches in turn.
std::vector<core::TensorMap> feed_of(const model::Model& model) {
  auto feed = make_feed(model);
  for (std::size_t i = 0; i < feed.size(); ++i)
    feed[i]["chosen"] = Tensor(DType::boolean, {1}, std::vector<std::int64_t>{static_cast<std::int64_t>(i % 2)});
  return feed;
}

const model::Node& node_of(const model::Graph& graph, std::string_view op) {
  return *std::ranges::find(graph.nodes, op, &model::Node::op_type);
}

TEST(Branches, ReadTheDequantizedFormOfWhatExistsAsCodes) {
  const auto model = branching();
  const auto conversion = converted(model, feed_of(model));
  const auto names = model::captured_names(node_of(conversion.artifact.graph, "If"));
  EXPECT_THAT(names, Contains("c_dequantized"));
  EXPECT_THAT(names, Not(Contains("c")));
  EXPECT_THAT(names, Not(Contains("i")));  // a copy that is gone
  for (const auto& inputs : feed_of(model)) EXPECT_GT(sqnr_of(model, conversion.artifact, inputs), 25);
}

TEST(Branches, NodesInThemCantBeDemandedInInt8) {
  const auto model = branching();
  auto options = converters::Options{};
  options.precision["a"] = "int8";
  auto state = state_of(model, feed_of(model), options);
  const auto done = run_until(state, "plan");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(done.error().node, "a");
  EXPECT_THAT(done.error().message, HasSubstr("subgraphs"));
}

TEST(Branches, AreUpgradedWithTheGraph) {
  auto model = make_model(R"(agraph (float[1,3] x, bool chosen) => (float[1,3] y) {
      y = If (chosen) <then_branch = t () => (float[1,3] a) { a = Clip <min=0.0, max=1.0> (x) },
                       else_branch = f () => (float[1,3] b) { s = Squeeze <axes=[0]> (x) b = Unsqueeze <axes=[0]> (s) }>
    })",
                          {}, 10);
  const auto done = upgrade_opset(model, 21);
  ASSERT_TRUE(done) << done.error().message;
  for (const bool chosen : {true, false}) {
    const core::TensorMap inputs{{"x", floats({1, 3}, {-1, 0.5, 2})},
                                 {"chosen", Tensor(DType::boolean, {}, std::vector<std::int64_t>{chosen ? 1 : 0})}};
    const auto outputs = engine::run_float(model, inputs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    if (chosen) {
      EXPECT_THAT(outputs->at("y").to_reals(), ElementsAre(0, 0.5, 1));
    } else {
      EXPECT_THAT(outputs->at("y").to_reals(), ElementsAre(-1, 0.5, 2));
    }
  }
}

/// 1e-7 has no code beside 5: as codes it would be 0, and its Log infinite.
TEST(Clip, ThatKeepsALogFromZeroStaysInFloat) {
  for (const char* behind : {"Log (c)", "Reciprocal (c)", "Div (x, c)", "Tanh (c)"}) {
    const auto model = make_model(std::string("agraph (float[1,8] x) => (float[1,8] y) { m = MatMul (x, w)"
                                              " c = Clip (m, least) y = ") +
                                      behind + " }",
                                  {{"w", drawn({8, 8}, 3)}, {"least", floats({}, {1e-7})}});
    auto state = state_of(model, make_feed(model));
    const auto done = run_until(state, "plan");
    ASSERT_TRUE(done) << done.error().message;
    const bool in_float = state.plan.nodes[1].form == Form::fp32;
    EXPECT_EQ(in_float, std::string(behind) != "Tanh (c)") << behind;
  }
}

}  // namespace
}  // namespace assay::embedded::branches
