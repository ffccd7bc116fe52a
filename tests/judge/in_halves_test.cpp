#include "harness/judge/artifact/in_halves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::Tensor;
using testing::codes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;
using testing::reals;

Tensor halves(core::Shape shape, std::vector<double> values) {
  for (double& value : values) value = core::round_to_type(value, DType::float16);
  return {DType::float16, std::move(shape), std::move(values)};
}

std::vector<std::string> operators(const model::Model& model) {
  std::vector<std::string> list;
  for (const model::Node& node : model.graph.nodes) list.push_back(node.op_type);
  return list;
}

Widened widened(const std::string& text, const std::map<std::string, Tensor>& constants) {
  model::Model model = parse(text, constants);
  model.opsets[""] = 19;
  return widened_halves(std::make_shared<const model::Model>(std::move(model))).value();
}

TEST(WidenedHalves, HaveNoCastsBetweenFloatsAndSayWhatHas16Bits) {
  const Widened made = widened(
      "g (float[2,2] x) => (float[2,2] y) { xh = Cast <to=10> (x) r = Relu (xh) yh = MatMul (r, w)"
      " y = Cast <to=1> (yh) }",
      {{"w", halves({2, 2}, {0.1, 0.2, 0.3, 0.4})}});
  EXPECT_THAT(operators(*made.model), ElementsAre("Relu", "MatMul"));
  EXPECT_EQ(made.model->graph.nodes[0].input(0), "x");
  EXPECT_EQ(made.model->graph.nodes[1].outputs.front(), "y");
  EXPECT_EQ(made.model->graph.initializer("w")->type(), DType::float32);
  for (const char* name : {"x", "r", "y", "w"}) EXPECT_EQ(made.units.at(name), 0x1p-11) << name;
}

TEST(WidenedHalves, KeepTheTypeOfScalesAndACastOfWhatIsNoFloat) {
  const Widened made = widened(
      "g (float[2] x) => (float[2] y) { u = Less (x, k) f = Cast <to=10> (u) q = QuantizeLinear (f, s, z)"
      " d = DequantizeLinear (q, s, z) y = Cast <to=1> (d) }",
      {{"k", Tensor::scalar(DType::float32, 0.3)}, {"s", halves({}, {0.01})}, {"z", codes(DType::int8, {}, {0})}});
  EXPECT_THAT(operators(*made.model), ElementsAre("Less", "Cast", "QuantizeLinear", "DequantizeLinear"));
  EXPECT_EQ(made.model->graph.nodes[1].int_or("to", 0), static_cast<std::int64_t>(DType::float32));
  EXPECT_EQ(made.model->graph.initializer("s")->type(), DType::float16);
}

TEST(WidenedHalves, RoundAnOutputThatIsACopyOfAnInput) {
  const Widened made = widened("g (float[2] x) => (float[2] y) { h = Cast <to=10> (x) y = Cast <to=1> (h) }", {});
  EXPECT_EQ(made.units.at("y"), 0x1p-11);
}

TEST(WidenedHalves, LeaveAnArtifactInFloat32AsItIs) {
  const auto model = std::make_shared<const model::Model>(parse("g (float[2] x) => (float[2] y) { y = Relu (x) }", {}));
  EXPECT_EQ(widened_halves(model)->model, model);
}

/// The hand-worked Gemm in float16, with a bias that stays one.
struct HalfBench : testing::Bench {
  HalfBench() {
    artifact_opset = 19;
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) { xh = Cast <to=10> (x)"
        " xq = QuantizeLinear (xh, xs, xz) xd = DequantizeLinear (xq, xs, xz)"
        " wd = DequantizeLinear <axis=0> (wq, ws, wz) yh = Gemm <transB=1> (xd, wd, b)"
        " yq = QuantizeLinear (yh, ys, yz) yd = DequantizeLinear (yq, ys, yz) y = Cast <to=1> (yd) }";
    constants.erase("bs");
    constants.erase("bq");
    constants["xs"] = halves({}, {4.0 / 255});
    constants["ys"] = halves({}, {8.625 / 255});
    constants["ws"] = halves({2}, {4.0 / 127, 0.5 / 127});
    constants["b"] = halves({2}, {0.5, -1});
    evidence.converter.policy.bias = converters::BiasRounding::stays_float;
  }
};

TEST(InHalves, ARightArtifactPasses) {
  HalfBench bench;
  EXPECT_THAT(bench.faults(), IsEmpty());
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(InHalves, AScaleIsHeldToItsRounding) {
  HalfBench bench;
  bench.constants["ys"] = halves({}, {8.625 / 255 * 1.004});
  EXPECT_THAT(bench.faults(), ElementsAre("scale y"));
}

TEST(InHalves, ABiasIsHeldToItsRounding) {
  HalfBench bench;
  bench.constants["b"] = halves({2}, {0.502, -1});
  EXPECT_THAT(bench.faults(), ElementsAre("bias b"));
}

// What ONNX Runtime's QuantizeLinear of float16 did up to 1.31.
TEST(InHalves, CodesThatAreCutInsteadOfRoundedAreSeen) {
  HalfBench bench;
  Execution& execution = bench.execute();
  for (double& value : execution.outputs.at("y").reals()) value -= core::round_to_type(8.625 / 255, DType::float16);
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_THAT(out.reason, HasSubstr("y"));
}

}  // namespace
}  // namespace assay::judge
