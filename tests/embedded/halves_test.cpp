// Models of 16-bit floats: computed in float32, with ends of their own type.
#include "converters/embedded/halves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/executor.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

core::Tensor half(const core::Tensor& values) {
  core::Tensor copy = values;
  return core::rounded_to_type(std::move(copy).relabeled(DType::float16));
}

model::Model half_model() {
  return make_model(
      "agraph (float16[4,6] x) => (float16[4,3] y, float16[4,6] r) {\n r = Relu (x)\n c = Cast <to=10> (r)\n y = "
      "MatMul "
      "(c, w)\n}",
      {{"w", half(drawn({6, 3}, 1))}});
}

std::vector<core::TensorMap> half_feed() {
  std::vector<core::TensorMap> feed;
  for (std::uint64_t i = 0; i < 3; ++i) feed.push_back({{"x", half(drawn({4, 6}, 5 + i))}});
  return feed;
}

TEST(Halves, AreWidenedAndGivenBackAtTheEnds) {
  model::Model model = half_model();
  const HalfEnds ends = widen_halves(model);
  EXPECT_EQ(ends, (HalfEnds{{"x", DType::float16}, {"y", DType::float16}, {"r", DType::float16}}));
  EXPECT_EQ(model.graph.inputs[0].type, DType::float32);
  EXPECT_EQ(model.graph.initializer("w")->type(), DType::float32);
  EXPECT_EQ(model.graph.nodes[1].int_or("to", 0), 1);
  put_half_ends(model, ends);
  EXPECT_EQ(model.graph.inputs[0].type, DType::float16);
  const core::TensorMap inputs{{"x", half_feed()[0].at("x")}};
  const auto expected = reference::execute(half_model(), inputs), actual = reference::execute(model, inputs);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(actual) << actual.error().message;
  EXPECT_EQ(actual->at("y").type(), DType::float16);
  EXPECT_EQ(actual->at("r"), expected->at("r"));
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_NEAR(actual->at("y").as_real(i), expected->at("y").as_real(i), 1e-3 * 8) << i;
}

TEST(Halves, AModelOfFloat32Stays) {
  model::Model model = make_model("agraph (float[4] x) => (float[4] y) {\n y = Relu (x)\n}", {});
  const model::Model before = model;
  EXPECT_TRUE(widen_halves(model).empty());
  put_half_ends(model, {});
  EXPECT_EQ(model.graph.nodes.size(), before.graph.nodes.size());
}

TEST(Halves, AreQuantizedAndExecuted) {
  const auto model = half_model();
  const auto feed = half_feed();
  const auto conversion = converted(model, feed);
  EXPECT_EQ(conversion.artifact.graph.inputs[0].type, DType::float16);
  ASSERT_NE(params_of(conversion, "x"), nullptr);
  const auto outputs = run_artifact(conversion.artifact, feed[0], "");
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->at("y").type(), DType::float16);
  const auto expected = reference::execute(model, feed[0]);
  ASSERT_TRUE(expected);
  EXPECT_GT(sqnr_db(*expected, *outputs), 30);
}

TEST(Halves, ABatchOfAnotherTypeIsRefused) {
  const auto wrong = make_feed(make_model("agraph (float[4,6] x) => (float[4,6] y) {\n y = Relu (x)\n}", {}));
  const auto conversion = convert_in_memory(half_model(), wrong, {});
  ASSERT_TRUE(conversion);
  EXPECT_THAT(conversion->reply.reason, testing::HasSubstr("type float where the model declares float16"));
}

}  // namespace
}  // namespace assay::embedded
