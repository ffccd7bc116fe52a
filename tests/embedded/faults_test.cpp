#include "converters/embedded/faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "converters/embedded/engine/engine.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

/// A conversion before its passes, and what its artifact is run on.
struct Scenario {
  std::string name;
  State state;
  core::TensorMap inputs;
};

core::Tensor codes(const core::Shape& shape, std::vector<std::int64_t> values) {
  return core::Tensor(core::DType::int8, shape, std::move(values));
}

Scenario scenario(const std::string& name, const model::Model& model, std::vector<core::TensorMap> feed) {
  Scenario made{name, state_of(model, feed), {}};
  made.inputs = make_feed(model, 1, -4, 6)[0];
  return made;
}

Scenario network() {
  const auto model = make_model(R"(agraph (float[N,4,7,6] x) => (float[N,5,A,B] y, float[N,8,7,6] s) {
      c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w, b)
      n = BatchNormalization (c, g, be, mu, va)
      r = Relu (n)
      d = Conv <kernel_shape=[1,1]> (r, w2, b)
      e = Conv <kernel_shape=[3,3], pads=[1,1,1,1], group=8> (r, w3, b)
      s = Add (d, e)
      k = Concat <axis=1> (d, x)
      p = AveragePool <kernel_shape=[3,3], pads=[1,1,1,1]> (k)
      y = ConvTranspose <strides=[2,2], output_padding=[1,1]> (p, w4)
    })",
                                {{"w", drawn_spread({8, 4, 3, 3}, 0, 1)},
                                 {"b", drawn({8}, 2, 3)},
                                 {"g", floats({8}, {1, -2, 0.5, 1.5, 1, 2, 0.7, 1})},
                                 {"be", drawn({8}, 3)},
                                 {"mu", drawn({8}, 4)},
                                 {"va", floats({8}, {1, 2, 0.5, 3, 1, 1, 4, 1})},
                                 {"w2", drawn_spread({8, 8, 1, 1}, 0, 5)},
                                 {"w3", drawn_spread({8, 1, 3, 3}, 0, 6)},
                                 {"w4", drawn_spread({12, 5, 2, 2}, 1, 7)}});
  return scenario("network", model, make_feed(model, 3));
}

Scenario products() {
  const auto model = make_model(R"(agraph (float[5,6] a_1, float[5,6] z) => (float[5,3] y, float[5,4] A_1) {
      g = Gemm <transB=1> (a_1, w, b)
      c = Concat <axis=1> (g, z)
      q = CumSum (c, one)
      y = MatMul (q, m)
      t = Gemm <transB=1> (z, w2, b2)
      A_1 = Relu (t)
    })",
                                {{"w", drawn_spread({4, 6}, 0, 1)},
                                 {"b", drawn({4}, 2)},
                                 {"w2", drawn_spread({4, 6}, 0, 8)},
                                 {"b2", drawn({4}, 9)},
                                 {"one", core::Tensor(core::DType::int64, {}, std::vector<std::int64_t>{1})},
                                 {"m", drawn_spread({10, 3}, 1, 3)}});
  auto feed = make_feed(model, 2);
  for (auto& value : feed[0]["z"].reals()) value *= 9;
  feed[1]["z"].reals()[3] = 80;  // an outlier
  auto made = scenario("products", model, feed);
  made.state.feed_order = {"z", "a_1"};
  return made;
}

Scenario rebuilt() {
  auto made = products();
  auto first = state_of(made.state.original, made.state.feed.all());
  EXPECT_TRUE(run_passes(standard_passes(), first));
  made.name = "rebuilt";
  made.state.cache_text = first.cache_json;
  made.state.options.precision = {{"Concat", "fp32"}};
  return made;
}

Scenario stale() {
  auto made = rebuilt();
  made.name = "stale";
  made.state.feed.edit()[0]["z"].reals()[0] += 1;
  return made;
}

Scenario refused() {
  auto made = products();
  made.name = "refused";
  made.state.options.precision = {{"CumSum", "int8"}};
  return made;
}

Scenario broken_model() {
  const auto model = make_model("agraph (float[1,4,5,5] x) => (float[1,3,5,5] y) {\n y = Conv (x, w)\n}",
                                {{"w", drawn({3, 5, 1, 1}, 1)}});
  return scenario("broken model", model, make_feed(model, 1));
}

Scenario spoiled(const std::string& name, const std::function<void(State&)>& spoil) {
  auto made = products();
  made.name = name;
  spoil(made.state);
  return made;
}

Scenario edges() {
  const auto model = make_model(
      "agraph (float[1,2,3,2] x) => (float[1,3,3,2] y, float[1,2,3,2] z) {\n"
      " y = Conv (x, w, b)\n k = Mul (x, zero)\n z = Relu (k)\n}",
      {{"w", floats({3, 2, 1, 1}, {1e-9, 1e-9, 1, 2, 0, 0})},
       {"b", floats({3}, {1000, 1, 0})},
       {"zero", floats({}, {0})}});
  return scenario("edges", model, make_feed(model, 1));
}

Scenario shape_values() {
  const auto model = make_model(R"(agraph (float[2,6] x) => (float[A,B] y) {
      s = Shape (x)
      n = Gather <axis=0> (s, zero)
      t = Concat <axis=0> (n, rest)
      y = Reshape (x, t)
    })",
                                {{"zero", ints({1}, {0})}, {"rest", ints({1}, {6})}});
  return scenario("shape values", model, make_feed(model, 1));
}

Scenario middle_read() {
  const auto model = make_model(
      "agraph (float[1,2,3,2] x) => (float[1,3,3,2] y, float[1,3,3,2] z) {\n"
      " c = Conv (x, w)\n y = Relu (c)\n z = Sigmoid (c)\n}",
      {{"w", drawn({3, 2, 1, 1}, 1)}});
  return scenario("middle read", model, make_feed(model, 1));
}

Scenario imported() {
  const auto model = make_model(R"(agraph (float[1,2,4,3] x) => (float[1,2,8,6] y) {
      xq = QuantizeLinear (x, xs, xz)
      xd = DequantizeLinear (xq, xs, xz)
      wd = DequantizeLinear <axis=0> (wq, ws, wz)
      y = ConvTranspose <strides=[2,2]> (xd, wd)
    })",
                                {{"xs", floats({}, {0.02})},
                                 {"xz", codes({}, {3})},
                                 {"wq", codes({2, 2, 1, 1}, {100, 20, 30, -90})},
                                 {"ws", floats({2}, {0.01, 0.4})},
                                 {"wz", codes({2}, {0, 0})}});
  return scenario("imported", model, make_feed(model, 1));
}

/// Scales 1/64 and 1/32 exactly, zero_point -1: every odd code of `x` lies half way between two of the output.
Scenario ties() {
  const auto model =
      make_model("agraph (float[1,4] x, float[1,2] z) => (float[1,6] y) {\n y = Concat <axis=1> (x, z)\n}", {});
  auto made = scenario("ties", model,
                       {{{"x", floats({1, 4}, {-127.0 / 64, 2, 0, 0})}, {"z", floats({1, 2}, {-127.0 / 32, 4})}}});
  made.inputs = {{"x", floats({1, 4}, {1.0 / 64, 3.0 / 64, -5.0 / 64, 0})}, {"z", floats({1, 2}, {0, 1})}};
  return made;
}

std::vector<Scenario> scenarios() {
  return {
      network(),
      products(),
      rebuilt(),
      stale(),
      refused(),
      broken_model(),
      edges(),
      shape_values(),
      middle_read(),
      imported(),
      ties(),
      spoiled("aborted",
              [](State& s) {
                s.feed_problem = Error{core::ErrorKind::invalid_data, "calibration batch 2 can't be read", "", "", ""};
              }),
      spoiled("missing input", [](State& s) { s.feed.edit()[1].erase("z"); }),
      spoiled("not a number", [](State& s) { s.feed.edit()[1]["z"].reals()[0] = NAN; })};
}

/// Everything that anybody could see of a conversion and of running its artifact.
std::string observed(Scenario made, const std::vector<std::string>& faults, const std::string& variant = "") {
  const auto machine = build_machine(faults, variant);
  EXPECT_TRUE(machine);
  const auto folder = core::TemporaryFolder::create();
  EXPECT_TRUE(folder);
  made.state.output = folder->path();
  std::string seen;
  const auto done = run_passes(machine->passes, made.state);
  for (const auto& entry : std::filesystem::directory_iterator(folder->path())) {
    if (!done) seen += "left " + entry.path().filename().string() + "\n";
  }
  if (!done) return seen + done.error().message + " @" + done.error().node;
  for (const auto& node : made.state.precision) seen += node.node + " " + node.got + "\n";
  seen += model::serialize_model(made.state.artifact);
  const auto outputs = engine::run_quantized(made.state.artifact, made.inputs, machine->policy);
  if (!outputs) return seen + outputs.error().message;
  for (const auto& [name, tensor] : *outputs) {
    seen += name + core::shape_text(tensor.shape());
    for (std::int64_t i = 0; i < tensor.size(); ++i) seen += std::to_string(tensor.as_real(i)) + " ";
  }
  return seen;
}

TEST(Faults, EveryOneIsSeenInSomeScenario) {
  std::vector<std::pair<Scenario, std::string>> correct;
  for (auto& made : scenarios()) {
    auto seen = observed(made, {});
    correct.emplace_back(std::move(made), std::move(seen));
  }
  for (const auto& fault : fault_table()) {
    bool differs = false;
    for (const auto& [made, expected] : correct) {
      differs = differs || observed(made, {std::string(fault.name)}) != expected;
    }
    EXPECT_TRUE(differs) << fault.name;
  }
}

TEST(Faults, NamesAreUniqueAndDocumented) {
  std::set<std::string_view> names;
  const std::set<std::string_view> stages{"load",   "float", "simplify", "plan",  "calibrate", "assign",
                                          "encode", "emit",  "report",   "cache", "engine"};
  for (const auto& fault : fault_table()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(stages.contains(fault.stage)) << fault.name;
    EXPECT_TRUE(fault.url.starts_with("https://github.com/")) << fault.name;
    EXPECT_FALSE(fault.title.empty()) << fault.name;
  }
  EXPECT_GE(names.size(), 50U);
}

TEST(Faults, MayBeCombined) {
  const auto one = observed(network(), {"bias_dropped"});
  const auto two = observed(network(), {"bias_dropped", "scale_doubled"});
  EXPECT_NE(one, two);
  EXPECT_NE(two, observed(network(), {"scale_doubled"}));
}

TEST(Variants, ConvertAlikeAndStayWithinAStepOfEachOther) {
  const auto made = network();
  auto state = made.state;
  ASSERT_TRUE(run_passes(standard_passes(), state));
  const auto usual = run_artifact(state.artifact, made.inputs);
  ASSERT_TRUE(usual);
  for (const auto& variant : variant_table()) {
    const auto machine = build_machine({}, std::string(variant.name));
    ASSERT_TRUE(machine) << variant.name;
    EXPECT_NE(machine->policy, engine::ArithmeticPolicy{}) << variant.name;
    const auto outputs = run_artifact(state.artifact, made.inputs, std::string(variant.name));
    ASSERT_TRUE(outputs) << variant.name;
    EXPECT_GT(sqnr_db(*usual, *outputs), 35) << variant.name;
  }
}

}  // namespace
}  // namespace assay::embedded
