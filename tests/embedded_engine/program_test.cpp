// What a program promises: which nodes run on integers, that they agree with the float evaluation of the same Q/DQ
// graph, errors by name.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "converters/embedded/engine/loops.hpp"
#include "harness/core/rng.hpp"
#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor random_floats(core::Rng& rng, const Shape& shape, double range) {
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) value = rng.uniform(-range, range);
  return core::rounded_to_type(floats(shape, std::move(values)));
}
Tensor random_codes(core::Rng& rng, const Shape& shape) {
  std::vector<std::int64_t> codes(static_cast<std::size_t>(core::element_count(shape)));
  for (auto& code : codes) code = rng.integer(-127, 127);
  return int8s(shape, std::move(codes));
}
std::vector<double> random_scales(core::Rng& rng, std::int64_t count) {
  std::vector<double> scales;
  for (std::int64_t i = 0; i < count; ++i) scales.push_back(rng.uniform(0.002, 0.05));
  return scales;
}

/// One random operator between Q/DQ pairs, with its output quantized to a range that it roughly fills.
struct RandomGraph {
  GraphMaker maker;
  TensorMap inputs;
  double out_scale = 1;
};

RandomGraph random_conv(core::Rng& rng) {
  RandomGraph made;
  const std::int64_t groups = rng.integer(1, 3);
  const std::int64_t in = groups * rng.integer(1, 4);
  const std::int64_t out = groups * rng.integer(1, 7);
  const std::int64_t kh = rng.integer(1, 3);
  const std::int64_t kw = rng.integer(1, 4);
  const Shape shape{rng.integer(1, 2), in, rng.integer(5, 9), rng.integer(6, 30)};
  const auto x = made.maker.input("x", shape, 0.02, rng.integer(-100, 100));
  const auto w = made.maker.constant("w", random_codes(rng, {out, in / groups, kh, kw}), random_scales(rng, out));
  made.maker.node("Conv", {x, w}, "y",
                  {{"group", groups},
                   {"strides", std::vector<std::int64_t>{rng.integer(1, 2), rng.integer(1, 3)}},
                   {"dilations", std::vector<std::int64_t>{rng.integer(1, 2), 1}},
                   {"pads", std::vector<std::int64_t>{rng.integer(0, 2), rng.integer(0, 2), rng.integer(0, 2), 1}}});
  made.inputs["x"] = random_floats(rng, shape, 2);
  made.out_scale = 0.05;
  return made;
}

RandomGraph random_conv_transpose(core::Rng& rng) {
  RandomGraph made;
  const std::int64_t groups = rng.integer(1, 3);
  const std::int64_t in = groups * rng.integer(1, 4);
  const std::int64_t out = rng.integer(1, 5);
  const Shape shape{1, in, rng.integer(2, 5), rng.integer(2, 20)};
  const auto x = made.maker.input("x", shape, 0.02, rng.integer(-100, 100));
  const auto w = made.maker.constant("w", random_codes(rng, {in, out, 3, 2}), random_scales(rng, out), {}, 1);
  made.maker.node("ConvTranspose", {x, w}, "y",
                  {{"group", groups},
                   {"strides", std::vector<std::int64_t>{2, rng.integer(1, 3)}},
                   {"output_padding", std::vector<std::int64_t>{rng.integer(0, 1), 0}},
                   {"pads", std::vector<std::int64_t>{rng.integer(0, 1), 0, 1, 0}}});
  made.inputs["x"] = random_floats(rng, shape, 2);
  made.out_scale = 0.05;
  return made;
}

RandomGraph random_matmul(core::Rng& rng) {
  RandomGraph made;
  const std::int64_t depth = rng.integer(1, 70);
  const std::int64_t columns = rng.integer(1, 20);
  const Shape shape{rng.integer(1, 3), rng.integer(1, 20), depth};
  const auto x = made.maker.input("x", shape, 0.02, rng.integer(-100, 100));
  const auto w = made.maker.constant("w", random_codes(rng, {depth, columns}), random_scales(rng, columns), {}, 1);
  made.maker.node("MatMul", {x, w}, "y");
  made.inputs["x"] = random_floats(rng, shape, 2);
  made.out_scale = 0.1;
  return made;
}

// Scales whose ratios are no simple fractions: 0.013 / 0.02 would put every tenth sum on a tie.
RandomGraph random_binary(core::Rng& rng) {
  RandomGraph made;
  const auto a = made.maker.input("a", {2, 3, 5}, 0.01307, rng.integer(-100, 100));
  const auto b = made.maker.input("b", {3, 1}, 0.0213, rng.integer(0, 255), DType::uint8);
  const std::array operators{"Add", "Sub", "Mul", "Max", "Min"};
  made.maker.node(operators[static_cast<std::size_t>(rng.integer(0, 4))], {a, b}, "y");
  made.inputs["a"] = random_floats(rng, {2, 3, 5}, 1.5);
  made.inputs["b"] = random_floats(rng, {3, 1}, 2);
  made.out_scale = 0.02;
  return made;
}

RandomGraph random_unary(core::Rng& rng) {
  RandomGraph made;
  const auto x = made.maker.input("x", {2, 4, 6}, 0.03, rng.integer(-20, 20));
  const std::array operators{"Sigmoid",   "Tanh", "HardSwish",         "Erf",        "Elu",      "Softplus", "Softmax",
                             "LeakyRelu", "Relu", "GlobalAveragePool", "ReduceMean", "Transpose"};
  made.maker.node(operators[static_cast<std::size_t>(rng.integer(0, 11))], {x}, "y");
  made.inputs["x"] = random_floats(rng, {2, 4, 6}, 3.5);
  made.out_scale = 0.015;
  return made;
}

/// Codes that the float evaluation of the same graph gives for `tensor`.
Tensor float_codes(model::Model model, const TensorMap& inputs, const std::string& tensor) {
  model.graph.outputs = {{tensor, DType::undefined, std::nullopt}};
  const auto outputs = run_float(model, inputs);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  return outputs->at(tensor);
}

class RandomGraphs : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomGraphs, IntegersGiveTheRoundedFloatEvaluation) {
  constexpr std::array kMakers{&random_conv, &random_conv_transpose, &random_matmul, &random_binary, &random_unary};
  std::int64_t compared = 0;
  std::int64_t off = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    core::Rng rng(seed, fmt::format("random graph {}", GetParam()));
    RandomGraph made = kMakers[GetParam()](rng);
    made.maker.quantized_output("y", made.out_scale, rng.integer(-50, 50));
    ASSERT_EQ(integer_nodes_of(made.maker.model()).size(), 1U) << "seed " << seed;
    const auto actual = codes_of(made.maker.model(), made.inputs).at("y_q");
    const Tensor expected = float_codes(made.maker.model(), made.inputs, "y_q");
    ASSERT_EQ(actual.shape(), expected.shape()) << "seed " << seed;
    for (std::int64_t i = 0; i < actual.size(); ++i) {
      const double distance = std::abs(actual.as_real(i) - expected.as_real(i));
      ASSERT_LE(distance, 1) << "seed " << seed << " element " << i;
      off += distance > 0 ? 1 : 0;
    }
    compared += actual.size();
  }
  // Only where float32's rounding error crosses a tie may the two differ: about 1e-5 of the values lie so near.
  EXPECT_GT(compared, 1000);
  EXPECT_LE(off, 1 + compared / 500);
}
INSTANTIATE_TEST_SUITE_P(Operators, RandomGraphs, testing::Range<std::size_t>(0, 5));

TEST(PerAxis, EqualScalesGiveThePerTensorResult) {
  core::Rng rng(7);
  const Tensor weights = random_codes(rng, {5, 3, 2, 2});
  const TensorMap inputs{{"x", random_floats(rng, {1, 3, 6, 7}, 2)}};
  const auto codes = [&](std::vector<double> scale) {
    GraphMaker g;
    const auto x = g.input("x", {1, 3, 6, 7}, 0.02, 11);
    const auto w = g.constant("w", weights, std::move(scale));
    g.node("Conv", {x, w}, "y");
    g.quantized_output("y", 0.03, -4);
    return codes_of(g.model(), inputs, "y_q");
  };
  EXPECT_EQ(codes({0.01}), codes({0.01, 0.01, 0.01, 0.01, 0.01}));
}

TEST(Loops, EveryVersionGivesTheSameBytes) {
  if (avx2_loops() == nullptr) GTEST_SKIP() << "this processor has one version only";
  core::Rng rng(3);
  constexpr std::int64_t kDepth = 37;
  std::vector<float> a(kDepth * kTileRows), b(kDepth * kTileColumns), plain(kTileRows * kTileColumns), fast = plain;
  for (float& value : a) value = static_cast<float>(rng.uniform(-1, 1));
  for (float& value : b) value = static_cast<float>(rng.uniform(-1, 1));
  plain_loops().float_tile(a.data(), b.data(), kDepth, plain.data(), kTileColumns);
  avx2_loops()->float_tile(a.data(), b.data(), kDepth, fast.data(), kTileColumns);
  EXPECT_EQ(plain, fast);
  std::vector<std::int16_t> p(2 * a.size()), q(2 * b.size());
  for (auto& value : p) value = static_cast<std::int16_t>(rng.integer(-255, 255));
  for (auto& value : q) value = static_cast<std::int16_t>(rng.integer(-255, 255));
  std::vector<std::int32_t> sums(plain.size()), same = sums;
  plain_loops().code_tile(p.data(), q.data(), kDepth, sums.data(), kTileColumns);
  avx2_loops()->code_tile(p.data(), q.data(), kDepth, same.data(), kTileColumns);
  EXPECT_EQ(sums, same);
  std::vector<std::uint8_t> codes(sums.size()), others = codes;
  const RequantizeRow row{17, 0.25, 0.001, -130, 125, 2};
  plain_loops().requantize_row(sums.data(), std::ssize(sums), row, codes.data());
  avx2_loops()->requantize_row(sums.data(), std::ssize(sums), row, others.data());
  EXPECT_EQ(codes, others);
}

TEST(IntegerNodes, WeightOnlyQuantizationRunsInFloat) {
  GraphMaker g;
  g.input("x", {1, 1, 1}, 1, 0);
  const auto w = g.constant("w", int8s({1, 1, 1}, {3}), {0.5});
  g.node("Conv", {"x", w}, "y");
  g.output("y");
  EXPECT_TRUE(integer_nodes_of(g.model()).empty());
  const auto outputs = run_quantized(g.model(), {{"x", floats({1, 1, 1}, {2.25})}});
  ASSERT_TRUE(outputs);
  EXPECT_THAT(outputs->at("y").to_reals(), ElementsAre(3.375));
}

// Codes 4 and -6 of step 0.5 times the weight 3·0.25, bias code 8 of step 0.125: (12 + 8)/8 and (-18 + 8)/8.
TEST(IntegerNodes, ASumOfProductsLeftInFloatIsItsAccumulatorDequantized) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 2}, 0.5, 10);
  const auto w = g.constant("w", int8s({1, 1, 1}, {3}), {0.25});
  const auto b = g.constant("b", ints(DType::int32, {1}, {8}), {0.125});
  g.node("Conv", {x, w, b}, "y");
  g.output("y");
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
  TensorMap trace;
  const auto outputs = run_quantized(g.model(), {{"x", floats({1, 1, 2}, {2, -3})}}, {}, &trace);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(outputs->at("y").to_reals(), ElementsAre(2.5, -1.25));
  EXPECT_FALSE(trace.contains("y"));  // no codes
}

TEST(IntegerNodes, EverySumOfProductsMayBeLeftInFloat) {
  core::Rng rng(17);
  const auto check = [&](GraphMaker& g, const Shape& shape) {
    g.output("y");
    EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
    const TensorMap inputs{{"x", random_floats(rng, shape, 2)}};
    const auto actual = run_quantized(g.model(), inputs);
    ASSERT_TRUE(actual) << actual.error().message;
    const Tensor expected = float_codes(g.model(), inputs, "y");
    ASSERT_EQ(actual->at("y").shape(), expected.shape());
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual->at("y").as_real(i), expected.as_real(i), 1e-5);  // up to 50 products of at most 2·0.7
    }
  };
  {
    GraphMaker g;
    const Shape shape{2, 4, 5, 6};
    const auto x = g.input("x", shape, 0.02, 7);
    const auto w = g.constant("w", random_codes(rng, {4, 3, 2, 2}), random_scales(rng, 3), {}, 1);
    g.node("ConvTranspose", {x, w}, "y", {{"group", std::int64_t{2}}});
    check(g, shape);
  }
  {
    GraphMaker g;
    const Shape shape{2, 3, 5, 6};
    const auto x = g.input("x", shape, 0.02, -7);
    const auto w = g.constant("w", random_codes(rng, {3, 1, 3, 3}), random_scales(rng, 3));
    g.node("Conv", {x, w}, "y", {{"group", std::int64_t{3}}});  // depthwise
    check(g, shape);
  }
  {
    GraphMaker g;
    const Shape shape{2, 3, 7};
    const auto x = g.input("x", shape, 0.02, 3);
    const auto w = g.constant("w", random_codes(rng, {7, 5}), random_scales(rng, 5), {}, 1);
    g.node("MatMul", {x, w}, "y");
    check(g, shape);
  }
  {
    GraphMaker g;
    const Shape shape{7, 3};
    const auto x = g.input("x", shape, 0.02, 3);
    const auto w = g.constant("w", random_codes(rng, {4, 7}), random_scales(rng, 4));
    g.node("MatMul", {w, x}, "y");
    check(g, shape);
  }
  {
    GraphMaker g;
    const Shape shape{3, 7};
    const auto x = g.input("x", shape, 0.02, 3);
    const auto w = g.constant("w", random_codes(rng, {5, 7}), random_scales(rng, 5));
    g.initializer("b", floats({5}, {0.1, 0.2, -0.3, 0, 5}));
    g.node("Gemm", {x, w, "b"}, "y", {{"transB", std::int64_t{1}}, {"alpha", 0.5}});
    check(g, shape);
  }
}

// Codes of uint8 with zero_point 0 reach 255: 255·127·K fits 32 bits up to K = 66311.
TEST(IntegerNodes, SumsThatCouldLeave32BitsRunInFloat) {
  const auto made = [](std::int64_t depth) {
    GraphMaker g;
    const auto x = g.input("x", {1, depth}, 1, 0, DType::uint8);
    const auto w =
        g.constant("w", int8s({depth, 1}, std::vector<std::int64_t>(static_cast<std::size_t>(depth), 127)), {1});
    g.node("MatMul", {x, w}, "y");
    g.quantized_output("y", 0x1p26, 0);
    return g;
  };
  EXPECT_THAT(integer_nodes_of(made(66311).model()), ElementsAre("y"));
  EXPECT_TRUE(integer_nodes_of(made(66312).model()).empty());
  const TensorMap inputs{{"x", floats({1, 66312}, std::vector<double>(66312, 255))}};
  EXPECT_THAT(codes_of(made(66312).model(), inputs, "y_q"), ElementsAre(32));  // 2147514120 ÷ 2²⁶ = 32.0005
}

TEST(IntegerNodes, ABiasCountsTowardsTheSum) {
  const auto made = [](std::int64_t bias) {
    GraphMaker g;
    const auto x = g.input("x", {1, 1, 1}, 1, 0);
    const auto w = g.constant("w", int8s({1, 1, 1}, {-127}), {1});
    const auto b = g.constant("b", ints(DType::int32, {1}, {bias}), {1});
    g.node("Conv", {x, w, b}, "y");
    g.quantized_output("y", 0x1p26, 0);
    return integer_nodes_of(g.model()).size();
  };
  EXPECT_EQ(made(2147483647 - 127 * 128), 1U);
  EXPECT_EQ(made(2147483647 - 127 * 128 + 1), 0U);
}

TEST(Program, NamesTheProductOfActivationsWhoseSumsAreTooLong) {
  GraphMaker g;
  const auto a = g.input("a", {1, 40000}, 1, 0, DType::uint8);
  const auto b = g.input("b", {40000, 1}, 1, 0, DType::uint8);
  g.node("MatMul", {a, b}, "y");
  g.quantized_output("y", 1, 0);
  const auto outputs = run_quantized(g.model(), {{"a", floats({1, 40000}, std::vector<double>(40000, 1))},
                                                 {"b", floats({40000, 1}, std::vector<double>(40000, 1))}});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().node, "y");
  EXPECT_THAT(outputs.error().message, HasSubstr("sums of 40000 products of codes may exceed 32 bits"));
}

TEST(IntegerNodes, AFloatReaderOfTheResultKeepsTheNodeInFloat) {
  GraphMaker g;
  const auto x = g.input("x", {2}, 1, 0);
  g.node("Add", {x, x}, "y");
  g.quantized_output("y", 1, 0);
  g.output("y");
  EXPECT_TRUE(integer_nodes_of(g.model()).empty());
}

TEST(IntegerNodes, AResultMayBeQuantizedTwice) {
  GraphMaker g;
  const auto x = g.input("x", {2}, 1, 0);
  g.node("Add", {x, x}, "sum");
  g.node("Relu", {"sum"}, "y");
  g.quantized_output("y", 1, 0);
  g.initializer("coarse", floats({}, {2}));
  g.initializer("zero", ints(DType::uint8, {}, {3}));
  g.node("QuantizeLinear", {"y", "coarse", "zero"}, "z");
  g.output("z");
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("sum", "y"));
  const auto trace = codes_of(g.model(), {{"x", floats({2}, {-1, 5})}});
  EXPECT_THAT(trace.at("y_q").to_integers(), ElementsAre(0, 10));
  EXPECT_THAT(trace.at("z").to_integers(), ElementsAre(3, 8));
}

TEST(IntegerNodes, AskingForTheShapeDoesNot) {
  GraphMaker g;
  const auto x = g.input("x", {2}, 1, 0);
  g.node("Add", {x, x}, "y");
  g.quantized_output("y", 1, 0);
  g.node("Shape", {"y"}, "extents");
  g.output("extents");
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
  const auto outputs = run_quantized(g.model(), {{"x", floats({2}, {1, 2})}});
  ASSERT_TRUE(outputs);
  EXPECT_THAT(outputs->at("extents").to_integers(), ElementsAre(2));
}

// Scales and codes may come through Constant and Identity nodes, weights through QuantizeLinear of float values.
TEST(IntegerNodes, ScalesBehindConstantAndIdentity) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2}, 1, 0);
  g.node("Constant", {}, "scale", {{"value_float", 0.5}});
  g.node("Identity", {"scale"}, "same_scale");
  g.initializer("zero", int8s({}, {0}));
  g.initializer("w", floats({2, 1}, {1.5, -2}));
  g.node("QuantizeLinear", {"w", "same_scale", "zero"}, "w_q");
  g.node("DequantizeLinear", {"w_q", "same_scale", "zero"}, "w_dq");
  g.node("MatMul", {x, "w_dq"}, "y");
  g.quantized_output("y", 0.5, 0);
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
  const auto trace = codes_of(g.model(), {{"x", floats({1, 2}, {4, 1})}});
  EXPECT_THAT(trace.at("y_q").to_integers(), ElementsAre(8));
  EXPECT_FALSE(trace.contains("w_q"));  // a weight is no activation
}

TEST(IntegerNodes, AFloatBiasIsAddedBeforeRounding) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 1}, 1, 0);
  const auto w = g.constant("w", int8s({1, 1, 1}, {1}), {0.5});
  g.initializer("b", floats({1}, {0.3}));
  g.node("Conv", {x, w, "b"}, "y");
  g.quantized_output("y", 0.5, 0);
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 1, 1}, {3})}}, "y_q"), ElementsAre(4));  // 1.8 / 0.5 = 3.6
}

TEST(Program, ServesManyRunsOfManyShapes) {
  const auto model = model_of("agraph (float[batch,1,w] x) => (float[batch,1,v] y) { y = Conv (x, k) }",
                              {{"k", floats({1, 1, 2}, {1, 10})}});
  const auto program = Program::compile_float(model);
  ASSERT_TRUE(program) << program.error().message;
  for (int i = 0; i < 2; ++i) {
    const auto small = program->run({{"x", floats({1, 1, 2}, {1, 2})}});
    const auto large = program->run({{"x", floats({2, 1, 3}, {1, 2, 3, 4, 5, 6})}});
    ASSERT_TRUE(small && large);
    EXPECT_THAT(small->at("y").to_reals(), ElementsAre(21));
    EXPECT_THAT(large->at("y").to_reals(), ElementsAre(21, 32, 54, 65));
  }
}

TEST(Program, ObserverSeesInputsAndEveryResult) {
  const auto model = model_of("agraph (float[2] x) => (float[2] z) { y = Neg (x) z = Relu (y) }");
  std::vector<std::string> names;
  std::vector<float> seen;
  const auto outputs = run_float(model, {{"x", floats({2}, {1, -2})}}, [&](std::string_view name, const TensorView& t) {
    names.emplace_back(name);
    seen.insert(seen.end(), t.floats.begin(), t.floats.end());
  });
  ASSERT_TRUE(outputs);
  EXPECT_THAT(names, ElementsAre("x", "y", "z"));
  EXPECT_THAT(seen, ElementsAre(1, -2, -1, 2, 0, 2));
}

TEST(Program, NamesTheNodeItCanNotRun) {
  const auto model = model_of("agraph (float[2] x) => (float[2] y) { y = Acos (x) }");
  const auto program = Program::compile_float(model);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, core::ErrorKind::unsupported);
  EXPECT_EQ(program.error().node, "y");
  EXPECT_EQ(program.error().op, "Acos");
  EXPECT_THAT(program.error().message, HasSubstr("node \"y\" (Acos)"));
}

TEST(Program, NamesTheInputThatIsMissingOrWrong) {
  const auto model = model_of("agraph (float[2] x) => (float[2] y) { y = Neg (x) }");
  const auto missing = run_float(model, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().tensor, "x");
  const auto wrong = run_float(model, {{"x", floats({3}, {1, 2, 3})}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "input \"x\": expected shape [2], got [3]");
  const auto other = run_float(model, {{"x", int64s({2}, {1, 2})}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "input \"x\": expected type float, got int64");
}

TEST(Program, NamesTheNodeWhoseShapesDoNotFit) {
  const auto model = model_of("agraph (float[a] x, float[b] z) => (float[c] y) { y = Add (x, z) }");
  const auto outputs = run_float(model, {{"x", floats({2}, {1, 2})}, {"z", floats({3}, {1, 2, 3})}});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().message, "node \"y\" (Add): shapes [2] and [3] do not broadcast");
}

TEST(Program, RefusesTensorsBeyondTheLimitBeforeAllocating) {
  const auto model = model_of("agraph (int64[n] s) => (float[a,b,c] y) { y = ConstantOfShape (s) }");
  for (const std::int64_t extent : {std::int64_t{1} << 20, std::int64_t{1} << 62, std::int64_t{-1}}) {
    const auto outputs = run_float(model, {{"s", int64s({3}, {extent, extent, extent})}});
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().kind, core::ErrorKind::invalid_data);
    EXPECT_EQ(outputs.error().node, "y");
  }
}

TEST(EvaluateNode, FoldsAConstantNode) {
  model::Node node;
  node.name = node.op_type = "Mul";
  node.inputs = {"a", "b"};
  node.outputs = {"y"};
  const Tensor a = floats({2}, {1, 2});
  const Tensor b = floats({}, {3});
  const std::array<const Tensor*, 2> inputs{&a, &b};
  const auto outputs = evaluate_node(node, 13, inputs);
  ASSERT_TRUE(outputs);
  EXPECT_THAT(outputs->at(0).to_reals(), ElementsAre(3, 6));
}

}  // namespace
}  // namespace assay::embedded::engine::test
