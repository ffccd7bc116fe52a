#include "reference/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

model::Model parse(const std::string& text, const std::map<std::string, std::int64_t>& opsets = {{"", 13}}) {
  core::Result<model::Model> model = model::parse_graph_text(text, opsets);
  EXPECT_TRUE(model.ok()) << model.error().message;
  return model ? std::move(*model) : model::Model{};
}

core::Error failure(const model::Model& model, const TensorMap& inputs) {
  const Result<TensorMap> result = execute(model, inputs);
  EXPECT_FALSE(result.ok());
  return result ? core::Error{} : result.error();
}

TEST(Execute, BindsInputsAndOutputsByName) {
  const model::Model model =
      parse("g (float[2] b, float[2] a) => (float[2] d, float[2] s) { d = Sub(a, b) s = Add(a, b) }");
  const Result<TensorMap> result = execute(model, {{"a", reals({5, 7})}, {"b", reals({1, 10})}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->at("d").reals(), ElementsAre(4, -3));
  EXPECT_THAT(result->at("s").reals(), ElementsAre(6, 17));
}

TEST(Execute, ComputesInFloat64UnderAFloat32Label) {
  // 1 + 2^-40 needs more bits than float32 has.
  const model::Model model = parse("g (float[1] a, float[1] b) => (float[1] y) { y = Add(a, b) }");
  const Result<TensorMap> result = execute(model, {{"a", reals({1.0})}, {"b", reals({0x1p-40})}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->at("y").reals()[0], 1.0 + 0x1p-40);
  EXPECT_EQ(result->at("y").type(), DType::float32);
}

TEST(Execute, RefusesTypesAndAttributesOfALaterOpset) {
  const auto refused = [](const std::string& text, std::int64_t opset, const TensorMap& inputs) {
    const core::Error error = failure(parse(text, {{"", opset}}), inputs);
    EXPECT_EQ(error.kind, core::ErrorKind::invalid_model);
    const auto inferred = infer_shapes(parse(text, {{"", opset}}));
    EXPECT_FALSE(inferred.ok());
    EXPECT_THAT(inferred ? "" : inferred.error().message, testing::StartsWith(error.message)) << "before anything runs";
    return error.message;
  };
  const TensorMap scale{{"s", Tensor::scalar(DType::float32, 0.5)}};
  const auto with = [&](const Tensor& x) { return TensorMap{{"x", x}, {"s", scale.at("s")}}; };
  const std::string read = "g (TYPE[2] x, float s) => (float[2] y) { y = DequantizeLinear(x, s) }";
  const auto of = [&](const char* type) { return std::regex_replace(read, std::regex("TYPE"), type); };
  EXPECT_THAT(refused(of("int16"), 19, with(codes(DType::int16, {2}, {1, 2}))),
              HasSubstr("input 0 \"x\" has type int16, which DequantizeLinear takes since opset 21; the model imports "
                        "opset 19"));
  EXPECT_TRUE(execute(parse(of("int16"), {{"", 21}}), with(codes(DType::int16, {2}, {1, 2}))).ok());
  EXPECT_TRUE(execute(parse(of("int8"), {{"", 13}}), with(codes(DType::int8, {2}, {1, 2}))).ok());
  EXPECT_THAT(
      refused("g (float[2] x, float s) => (y) { y = QuantizeLinear<output_dtype=3>(x, s) }", 19, with(reals({1, 2}))),
      HasSubstr("has attribute output_dtype, which is of opset 21"));
  EXPECT_THAT(refused("g (float[2] x) => (y) { y = Cast<to=17>(x) }", 13, {{"x", reals({1, 2})}}),
              HasSubstr("output 0 \"y\" has type float8e4m3fn, which Cast takes since opset 19"));
}

TEST(Execute, RefusesMissingUnknownAndMisshapenInputs) {
  const model::Model model = parse("g (float[2,3] image) => (float[2,3] y) { y = Relu(image) }");
  EXPECT_THAT(failure(model, {}).message, HasSubstr("no data for input \"image\""));
  EXPECT_THAT(failure(model, {{"imgae", counting({2, 3})}}).message, HasSubstr("has no input \"imgae\"; it has image"));
  EXPECT_THAT(failure(model, {{"image", counting({3, 2})}}).message, HasSubstr("extent 2 at axis 0"));
  EXPECT_THAT(failure(model, {{"image", counting({6})}}).message, HasSubstr("rank 2"));
  EXPECT_THAT(failure(model, {{"image", codes(DType::int8, {2, 3}, {0, 0, 0, 0, 0, 0})}}).message,
              HasSubstr("is declared float, the data is int8"));
  EXPECT_EQ(failure(model, {}).kind, core::ErrorKind::invalid_data);
}

TEST(Execute, LimitsTheElementsThatAreNeededAtATime) {
  const model::Model model =
      parse("g (float[4] x) => (float[4] y) { a = Relu(x) b = Relu(a) c = Relu(b) d = Add(a, c) y = Relu(d) }");
  RunOptions options;
  options.limits.elements = 16;  // a, b and c at a time, with d
  EXPECT_TRUE(execute(model, {{"x", counting({4})}}, options).ok()) << "others are freed";
  options.limits.elements = 11;
  const auto result = execute(model, {{"x", counting({4})}}, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, core::ErrorKind::unsupported);
  EXPECT_THAT(result.error().message,
              HasSubstr("with \"c\" (4 elements) the tensors that are needed at a time have 12, "
                        "more than the limit of 11"));
}

TEST(Execute, LimitsWhatLoopsRun) {
  const model::Model model = parse(R"(g (int64 m, bool go, int64 start) => (int64 last) {
    last = Loop (m, go, start) <body = b (int64 i, bool c, int64 v) => (bool next, int64 w) {
      next = Identity (c) w = Add (v, i) }> })");
  const auto inputs = [](std::int64_t trips) {
    return TensorMap{{"m", codes(DType::int64, {}, {trips})},
                     {"go", codes(DType::boolean, {}, {1})},
                     {"start", codes(DType::int64, {}, {0})}};
  };
  EXPECT_TRUE(execute(model, inputs(1000)).ok());
  const auto endless = execute(model, inputs(std::int64_t{1} << 60U));
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().kind, core::ErrorKind::unsupported);
  EXPECT_THAT(endless.error().message, HasSubstr("run more than 2000000 nodes"));
}

TEST(Execute, DemandsThatASymbolMeansTheSameSizeEverywhere) {
  const model::Model model = parse("g (float[N] a, float[N] b) => (float[N] y) { y = Concat <axis=0> (a, b) }");
  EXPECT_TRUE(execute(model, {{"a", counting({3})}, {"b", counting({3})}}).ok());
  EXPECT_THAT(failure(model, {{"a", counting({3})}, {"b", counting({4})}}).message, HasSubstr("\"N\" is 3"));
}

TEST(Execute, NamesTheNodeOfAnUnknownOperatorAndItsDomain) {
  const model::Model model =
      parse("g (float[2] x) => (float[2] y) { m = Relu(x) y = my.own.Twist(m) }", {{"", 13}, {"my.own", 1}});
  const core::Error error = failure(model, {{"x", reals({1, 2})}});
  EXPECT_EQ(error.kind, core::ErrorKind::unsupported);
  EXPECT_EQ(error.node, "y");
  EXPECT_EQ(error.op, "Twist");
  EXPECT_THAT(error.message, HasSubstr("node \"y\" (my.own.Twist)"));
}

TEST(Execute, RefusesAnOpsetBeforeTheOperatorsFirst) {
  const model::Model model = parse("g (float[2] x) => (float[2] y) { y = HardSwish(x) }", {{"", 13}});
  const core::Error error = failure(model, {{"x", reals({1, 2})}});
  EXPECT_EQ(error.kind, core::ErrorKind::unsupported);
  EXPECT_THAT(error.message, HasSubstr("HardSwish at opset 14"));
}

TEST(Execute, NamesNodeAndShapesOfABrokenRule) {
  const model::Model model = parse("g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = MatMul(a, b) }");
  const core::Error error = failure(model, {{"a", counting({2, 3})}, {"b", counting({2, 3})}});
  EXPECT_EQ(error.kind, core::ErrorKind::invalid_model);
  EXPECT_EQ(error.node, "y");
  EXPECT_THAT(error.message, HasSubstr("[2,3] and [2,3]"));
}

TEST(Execute, RefusesAResultBeyondTheElementLimitBeforeAllocating) {
  const model::Model model = parse("g (float[N,1] a, float[1,N] b) => (float[N,N] y) { y = MatMul(a, b) }");
  const core::Error error = failure(model, {{"a", counting({40000, 1})}, {"b", counting({1, 40000})}});
  EXPECT_THAT(error.message, HasSubstr("would exceed the limit"));
}

TEST(Execute, ShowsEveryTensorOnce) {
  const model::Model model =
      parse("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { t = Add(x, w) u = Mul(t, t) y = Sub(u, x) }");
  std::map<std::string, int> seen;
  RunOptions options;
  options.observe = [&](const std::string& name, const Tensor&) { ++seen[name]; };
  const Result<TensorMap> result = execute(model, {{"x", reals({1, 1})}}, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(
      seen, ElementsAre(std::pair("t", 1), std::pair("u", 1), std::pair("w", 1), std::pair("x", 1), std::pair("y", 1)));
}

TEST(Execute, LetsOthersStandForNodesInSubgraphsToo) {
  const model::Model model = parse(
      "g (float[1] x, bool c) => (float[1] y) { a = Neg(x) y = If(c) <then_branch = t () => (float[1] b) { b = Neg(a) "
      "},"
      " else_branch = f () => (float[1] b) { b = Identity(a) }> }");
  RunOptions options;
  options.substitute = [](const model::Node& node, std::int64_t,
                          std::span<const Tensor* const> inputs) -> std::optional<Result<std::vector<Tensor>>> {
    if (node.op_type != "Neg") return std::nullopt;
    return Result<std::vector<Tensor>>(std::vector<Tensor>{reals({inputs[0]->reals()[0] + 10})});
  };
  const Tensor yes(core::DType::boolean, {}, std::vector<std::int64_t>{1});
  const Result<TensorMap> result = execute(model, {{"x", reals({1})}, {"c", yes}}, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->at("y").reals(), ElementsAre(21));
}

TEST(ExecuteNode, ShowsASubgraphWhatStandsAroundIt) {
  const model::Model model = parse(
      "g (float[1] x, bool c) => (float[1] y) { y = If(c) <then_branch = t () => (float[1] b) { b = Neg(x) },"
      " else_branch = f () => (float[1] b) { b = Identity(x) }> }");
  const Tensor yes(core::DType::boolean, {}, std::vector<std::int64_t>{1});
  const std::vector<const Tensor*> inputs{&yes};
  const auto x = std::make_shared<const Tensor>(reals({3}));
  const auto outer = [&](const std::string& name) { return name == "x" ? x : nullptr; };
  EXPECT_FALSE(execute_node(model.graph.nodes[0], 13, inputs).ok());
  const auto result = execute_node(model.graph.nodes[0], 13, inputs, outer);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->front().reals(), ElementsAre(-3));
}

TEST(Execute, GivesAnInputThatIsAlsoAnOutput) {
  const model::Model model = parse("g (float[1] x) => (float[1] y, float[1] x) { y = Relu(x) }");
  const Result<TensorMap> result = execute(model, {{"x", reals({-1})}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->at("x").reals(), ElementsAre(-1));
}

TEST(ExecuteNode, RefusesTooFewAndTooManyInputs) {
  EXPECT_THAT(error_of("Conv", {counting({1, 1, 3})}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(error_of("Relu", {counting({1}), counting({1})}), HasSubstr("has 2 inputs, expected at most 1"));
}

}  // namespace
}  // namespace assay::reference
