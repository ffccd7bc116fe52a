#include "converters/embedded/upgrade.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/embedded/engine/engine.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

core::TensorMap run(const model::Model& model, const core::TensorMap& inputs) {
  auto outputs = engine::run_float(model, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? std::move(*outputs) : core::TensorMap{};
}

struct Row {
  const char* node;
  std::int64_t opset;
  std::map<std::string, core::Tensor> constants;
};

TEST(UpgradeOpset, OldFormsComputeTheSame) {
  const std::vector<Row> rows{
      {"Squeeze <axes=[0]> (x)", 11, {}},
      {"Unsqueeze <axes=[0,2]> (x)", 12, {}},
      {"ReduceSum <axes=[1], keepdims=0> (x)", 12, {}},
      {"Slice <starts=[1], ends=[3], axes=[1]> (x)", 9, {}},
      {"Clip <min=-1.0, max=0.5> (x)", 10, {}},
      {"Clip (x)", 7, {}},
      {"Pad <pads=[0,1,0,0,2,0], value=1.5> (x)", 10, {}},
      {"Softmax (x)", 12, {}},
      {"Softmax <axis=2> (x)", 7, {}},
      {"LogSoftmax <axis=0> (x)", 11, {}},
      {"Dropout <ratio=0.5> (x)", 10, {}},
      {"BatchNormalization (x, s, s, s, s)", 9, {{"s", floats({3}, {1, 2, 3})}}},
  };
  for (const auto& row : rows) {
    const auto model =
        make_model(std::string("agraph (float[1,3,4] x) => (float[a,b,c] y) {\n y = ") + row.node + "\n}",
                   row.constants, row.opset);
    const core::TensorMap inputs{{"x", drawn({1, 3, 4}, 6)}};
    auto upgraded = model;
    const auto done = upgrade_opset(upgraded);
    ASSERT_TRUE(done) << row.node << ": " << done.error().message;
    EXPECT_EQ(upgraded.opset(), kPerAxisOpset);
    EXPECT_GT(sqnr_db(run(model, inputs), run(upgraded, inputs)), 130) << row.node;
  }
}

TEST(UpgradeOpset, SplitAndUpsampleTakeInputs) {
  const auto split = make_model(
      "agraph (float[1,6] x) => (float[1,2] y, float[1,4] z) {\n y, z = Split <axis=1, split=[2,4]> (x)\n}", {}, 11);
  auto upgraded = split;
  ASSERT_TRUE(upgrade_opset(upgraded));
  const core::TensorMap row{{"x", drawn({1, 6}, 6)}};
  EXPECT_GT(sqnr_db(run(split, row), run(upgraded, row)), 130);

  auto upsample = make_model(
      "agraph (float[1,1,2,2] x) => (float[1,1,4,6] y) {\n"
      " y = Upsample <mode=\"nearest\", scales=[1.0,1.0,2.0,3.0]> (x)\n}",
      {}, 7);
  ASSERT_TRUE(upgrade_opset(upsample));
  EXPECT_EQ(upsample.graph.nodes[0].op_type, "Resize");
  const auto outputs = run(upsample, {{"x", floats({1, 1, 2, 2}, {1, 2, 3, 4})}});
  EXPECT_EQ(outputs.at("y").to_reals(), (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2,  //
                                                             3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}));
}

TEST(UpgradeOpset, LeavesNewerModelsAlone) {
  auto model = make_model("agraph (float[1,3] x) => (float[1,3] y) {\n y = Softmax (x)\n}", {}, 17);
  ASSERT_TRUE(upgrade_opset(model));
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.graph.nodes.size(), 1U);
}

TEST(UpgradeOpset, RefusesByNameWhatHasNoEqual) {
  auto model =
      make_model("agraph (float[3] x, int64[1] i, float[1] u) => (float[3] y) {\n y = Scatter (x, i, u)\n}", {}, 10);
  const auto done = upgrade_opset(model);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().node, "y");
  EXPECT_EQ(done.error().op, "Scatter");
  EXPECT_EQ(done.error().kind, core::ErrorKind::unsupported);
}

TEST(UpgradeOpset, AnOldModelConvertsPerAxis) {
  const auto model = make_model(
      "agraph (float[1,2,4,3] x) => (float[1,5,4,3] y) {\n c = Conv (x, w)\n"
      " y = Clip <min=0.0, max=6.0> (c)\n}",
      {{"w", drawn_spread({5, 2, 1, 1}, 0, 1)}}, 9);
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(params_of(conversion, "w")->scale.size(), 5U);
  EXPECT_EQ(got(conversion, "c"), "int8");
  EXPECT_EQ(got(conversion, "y"), "int8");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 30);
}

}  // namespace
}  // namespace assay::embedded
