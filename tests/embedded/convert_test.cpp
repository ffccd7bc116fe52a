#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/embedded.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

using converters::Outcome;
using testing::HasSubstr;

double f32(double value) { return static_cast<double>(static_cast<float>(value)); }

Conversion attempted(const model::Model& model, const std::vector<core::TensorMap>& feed,
                     const converters::Options& options = {}) {
  auto conversion = convert_in_memory(model, feed, options);
  EXPECT_TRUE(conversion);
  return std::move(*conversion);
}

std::vector<core::TensorMap> one_batch(const core::Shape& shape, std::vector<double> values) {
  return {{{"x", floats(shape, std::move(values))}}};
}

TEST(Convert, ConvGetsHandWorkedParametersAndCodes) {
  // x in [-1, 1.55]: scale 2.55 / 255 = 0.01, zero_point -128 + 100 = -28. w: 1.27 and 12.7 give 0.01 and 0.1.
  const auto model = make_model("agraph (float[1,1,1,2] x) => (float[1,2,1,2] y) {\n y = Conv (x, w, b)\n}",
                                {{"w", floats({2, 1, 1, 1}, {1.27, -12.7})}, {"b", floats({2}, {0.5, -0.02})}});
  const auto conversion = converted(model, one_batch({1, 1, 1, 2}, {-1, 1.55}));
  EXPECT_NEAR(params_of(conversion, "x")->scale[0], 0.01, 1e-9);
  EXPECT_EQ(params_of(conversion, "x")->zero_point[0], -28);
  const auto& weight = *params_of(conversion, "w");
  EXPECT_EQ(weight.axis, 0);
  EXPECT_EQ(weight.scale, (std::vector<double>{f32(f32(1.27) / 127), f32(f32(12.7) / 127)}));
  const auto& bias = *params_of(conversion, "b");
  EXPECT_EQ(bias.type, core::DType::int32);
  EXPECT_NEAR(bias.scale[0], 1e-4, 1e-10);
  const auto& constants = conversion.artifact.graph.initializers;
  EXPECT_EQ(constants.at("w_quantized")->to_integers(), (std::vector<std::int64_t>{127, -127}));
  EXPECT_EQ(constants.at("b_quantized")->to_integers(), (std::vector<std::int64_t>{5000, -20}));
}

TEST(Convert, GroupedConvTransposeSharesScalesOverGroups) {
  const auto model = make_model(
      "agraph (float[1,4,5,3] x) => (float[1,6,10,6] y) {\n y = ConvTranspose <strides=[2,2], group=2> (x, w, b)\n}",
      {{"w", drawn_spread({4, 3, 2, 2}, 1, 3)}, {"b", drawn({6}, 4)}});
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(params_of(conversion, "w")->axis, 1);
  EXPECT_EQ(params_of(conversion, "w")->scale.size(), 3U);
  EXPECT_EQ(params_of(conversion, "b")->scale.size(), 6U);
  EXPECT_EQ(params_of(conversion, "b")->scale[1], params_of(conversion, "b")->scale[4]);
  EXPECT_EQ(got(conversion, "y"), "int8");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 35);
}

TEST(Convert, ABiasBeyond32BitsRaisesTheWeightsScale) {
  const auto model = make_model("agraph (float[1,1,1,2] x) => (float[1,2,1,2] y) {\n y = Conv (x, w, b)\n}",
                                {{"w", floats({2, 1, 1, 1}, {1e-9, 1})}, {"b", floats({2}, {1000, 1})}});
  const auto conversion = converted(model, one_batch({1, 1, 1, 2}, {-1, 1.55}));
  const auto& weight = *params_of(conversion, "w");
  const double s_x = params_of(conversion, "x")->scale[0];
  EXPECT_GT(weight.scale[0], 1000 / s_x / 2147483648.0);
  EXPECT_NEAR(weight.scale[1], 1.0 / 127, 1e-9) << "the other channel keeps its own";
  const auto codes = conversion.artifact.graph.initializers.at("b_quantized")->to_integers();
  EXPECT_NEAR(static_cast<double>(codes[0]) * s_x * weight.scale[0], 1000, 1e-3);
  EXPECT_LT(codes[0], 2147483647);
}

TEST(Convert, AnAllZeroChannelKeepsItsBias) {
  const auto model = make_model("agraph (float[1,1,1,2] x) => (float[1,2,1,2] y) {\n y = Conv (x, w, b)\n}",
                                {{"w", floats({2, 1, 1, 1}, {0, 1})}, {"b", floats({2}, {0.75, 1})}});
  const auto feed = one_batch({1, 1, 1, 2}, {-1, 1.55});
  const auto conversion = converted(model, feed);
  for (const double scale : params_of(conversion, "w")->scale) EXPECT_TRUE(std::isnormal(scale) && scale > 0);
  const auto outputs = run_artifact(conversion.artifact, feed[0]);
  ASSERT_TRUE(outputs);
  EXPECT_NEAR(outputs->at("y").as_real(0), 0.75, params_of(conversion, "y")->scale[0] / 2 * 1.0001);
}

TEST(Convert, PerTensorUsesOneScale) {
  converters::Options options;
  options.per_axis = false;
  const auto model = make_model("agraph (float[1,2,4,3] x) => (float[1,3,4,3] y) {\n y = Conv (x, w)\n}",
                                {{"w", drawn_spread({3, 2, 1, 1}, 0, 1)}});
  const auto conversion = converted(model, make_feed(model), options);
  EXPECT_EQ(params_of(conversion, "w")->scale.size(), 1U);
  EXPECT_FALSE(params_of(conversion, "w")->axis);
}

TEST(Convert, ConcatCoversAConstantAndAnInput) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,4] y) {\n y = Concat <axis=1> (x, k)\n}",
                                {{"k", floats({1, 2}, {9, -9})}});
  const auto conversion = converted(model, one_batch({1, 2}, {-1, 1}));
  EXPECT_EQ(params_of(conversion, "y")->scale[0], f32(18.0 / 255));
  EXPECT_EQ(params_of(conversion, "x")->scale[0], f32(2.0 / 255)) << "the branch keeps its own";
}

TEST(Convert, ANodeInFloatIsNotRunOnCodes) {
  const auto model = make_model(
      "agraph (float[1,2] x) => (float[1,4] y) {\n r = Relu (x)\n c = Concat <axis=1> (r, x)\n y = Sigmoid (c)\n}", {});
  converters::Options options;
  options.precision = {{"Concat", "fp32"}};
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed, options);
  EXPECT_EQ(got(conversion, "c"), "fp32");
  EXPECT_EQ(got(conversion, "y"), "int8");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 30);
}

TEST(Convert, RebuildsFromTheCacheWithNodesInFloat) {
  const auto model =
      make_model(R"(agraph (float[1,2,4,3] x) => (float[1,3,4,3] y) {
      a = Conv (x, w)
      b = Conv (x, v)
      c = Concat <axis=1> (a, b)
      y = Conv (c, u)
    })",
                 {{"w", drawn({2, 2, 1, 1}, 1)}, {"v", drawn({2, 2, 1, 1}, 2, 9)}, {"u", drawn({3, 4, 1, 1}, 3)}});
  const auto feed = make_feed(model);
  const auto first = converted(model, feed);
  auto state = state_of(model, feed);
  state.options.precision = {{"Concat", "fp32"}};
  state.cache_text = first.cache_json;
  const auto done = run_passes(standard_passes(), state);
  ASSERT_TRUE(done) << done.error().message;
  for (const auto& tensor : state.tensors) {
    const auto* before = params_of(first, tensor.name);
    if (before == nullptr) continue;
    EXPECT_EQ(tensor.params, *before) << tensor.name;
  }
  EXPECT_EQ(state.cache_json, first.cache_json);
}

TEST(Convert, ACacheWithoutATensorIsRefusedByItsName) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n y = Relu (x)\n}", {});
  const auto feed = make_feed(model);
  auto cache = parse_cache(converted(model, feed).cache_json);
  cache->ranges.erase("y");
  auto state = state_of(model, feed);
  state.cache_text = cache_to_json(*cache);
  const auto done = run_passes(standard_passes(), state);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().tensor, "y");
  EXPECT_THAT(done.error().message, HasSubstr("no entry for tensor \"y\""));
}

TEST(Convert, ReadsATensorRtCacheAsSymmetricRanges) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n y = Relu (x)\n}", {});
  auto state = state_of(model, {});
  state.options.symmetric = true;
  state.cache_text = "TRT-8601-EntropyCalibration2\nx: 3d052036\ny: 3e1c5438\n";
  const auto done = run_passes(standard_passes(), state);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NEAR(state.params.at("x").scale[0], 0.0325014, 1e-6);
  EXPECT_EQ(state.params.at("x").zero_point[0], 0);
}

TEST(Convert, FeedMistakesNameInputAndBatch) {
  const auto model = make_model("agraph (float[2,3] x, float[2,3] z) => (float[2,3] y) {\n y = Add (x, z)\n}", {});
  struct Row {
    const char* what;
    std::function<void(std::vector<core::TensorMap>&)> spoil;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {"missing", [](auto& feed) { feed[2].erase("z"); }, "batch 2, input \"z\": missing; the batch holds \"x\""},
           {"shape",
            [](auto& feed) {
              feed[1]["z"] = drawn({5, 3}, 1);
            },
            "batch 1, input \"z\": shape [5,3] where the model declares [2,3]"},
           {"rank", [](auto& feed) { feed[1]["z"] = drawn({6}, 1); }, "shape [6]"},
           {"type",
            [](auto& feed) {
              feed[0]["x"] = ints({2, 3}, {1, 2, 3, 4, 5, 6});
            },
            "type int64 where the model declares float"},
           {"nan", [](auto& feed) { feed[3]["x"].reals()[4] = NAN; }, "batch 3, input \"x\": element 4 is NaN"},
           {"infinity", [](auto& feed) { feed[3]["z"].reals()[0] = INFINITY; }, "element 0 is Infinity"},
           {"empty", [](auto& feed) { feed.clear(); }, "empty"}}) {
    auto feed = make_feed(model, 4);
    row.spoil(feed);
    const auto conversion = attempted(model, feed);
    EXPECT_EQ(conversion.reply.outcome, Outcome::error) << row.what;
    EXPECT_THAT(conversion.reply.reason, HasSubstr(row.message)) << row.what;
  }
}

TEST(Convert, InputsAreBoundByNameWhateverTheirOrder) {
  const auto model = make_model("agraph (float[2,3] z, float[2,3] a) => (float[2,3] y) {\n y = Sub (z, a)\n}", {});
  std::vector<core::TensorMap> feed(1);
  feed[0] = {{"a", floats({2, 3}, {0, 0, 0, 0, 0, 100})}, {"z", floats({2, 3}, {0, 0, 0, 0, 0, 1})}};
  const auto conversion = converted(model, feed);
  EXPECT_EQ(params_of(conversion, "a")->scale[0], f32(100.0 / 255));
  EXPECT_EQ(params_of(conversion, "z")->scale[0], f32(1.0 / 255));
}

TEST(Convert, ATensorThatTurnsInfiniteIsNamedWithItsBatch) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n d = Div (one, x)\n y = Relu (d)\n}",
                                {{"one", floats({}, {1})}});
  auto feed = make_feed(model, 2);
  feed[1]["x"] = floats({1, 2}, {0, 1});
  const auto conversion = attempted(model, feed);
  EXPECT_THAT(conversion.reply.reason, HasSubstr("tensor \"d\" takes the value inf in calibration batch 1"));
}

TEST(Convert, ABrokenModelFailsInFloatBeforeAnythingIsQuantized) {
  const auto model = make_model("agraph (float[1,2,4,3] x) => (float[1,3,4,3] y) {\n y = Conv (x, w)\n}",
                                {{"w", drawn({3, 5, 1, 1}, 1)}});
  const auto conversion = attempted(model, make_feed(model));
  EXPECT_EQ(conversion.reply.outcome, Outcome::error);
  EXPECT_EQ(conversion.reply.node, "y");
  EXPECT_EQ(conversion.reply.op, "Conv");
  EXPECT_THAT(conversion.reply.reason, testing::StartsWith("float: "));
}

TEST(Convert, RefusesByNameWhatItDoesNotDo) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n y = Relu (x)\n}", {});
  converters::Options options;
  options.weight = core::DType::uint16;
  EXPECT_EQ(attempted(model, make_feed(model), options).reply.outcome, Outcome::refused);
  options = {};
  options.precision = {{"Relu", "fp16"}};
  EXPECT_THAT(attempted(model, make_feed(model), options).reply.reason, HasSubstr("fp16"));
  auto custom = model;
  custom.graph.nodes[0].domain = "my.domain";
  const auto reply = attempted(custom, make_feed(model)).reply;
  EXPECT_EQ(reply.outcome, Outcome::refused);
  EXPECT_EQ(reply.node, "y");
  EXPECT_EQ(reply.op, "Relu");
  EXPECT_THAT(reply.reason, HasSubstr("my.domain"));
}

TEST(Convert, KeepsDynamicExtentsFree) {
  const auto model = make_model("agraph (float[N,2,4,3] x) => (float[N,3,4,3] y) {\n y = Conv (x, w)\n}",
                                {{"w", drawn({3, 2, 1, 1}, 1)}});
  const auto conversion = converted(model, make_feed(model));
  EXPECT_FALSE(conversion.artifact.graph.inputs[0].shape->at(0).value);
  EXPECT_TRUE(run_artifact(conversion.artifact, {{"x", drawn({7, 2, 4, 3}, 5)}}));
}

TEST(Convert, EveryOptionSetConvertsASmallNetwork) {
  const auto model = make_model(R"(agraph (float[1,2,6,5] x) => (float[1,3,6,5] y) {
      a = Conv <pads=[1,1,1,1], kernel_shape=[3,3]> (x, w, b)
      r = Relu (a)
      y = Add (r, k)
    })",
                                {{"w", drawn({3, 2, 3, 3}, 1)}, {"b", drawn({3}, 2)}, {"k", drawn({3, 1, 1}, 4)}});
  const auto feed = make_feed(model);
  int ran = 0;
  for (const auto activation : {core::DType::int8, core::DType::uint8}) {
    for (const bool symmetric : {false, true}) {
      for (const bool per_axis : {false, true}) {
        for (const auto method : {converters::Method::minmax, converters::Method::entropy,
                                  converters::Method::percentile, converters::Method::mse}) {
          converters::Options options;
          options.activation = activation;
          options.symmetric = symmetric;
          options.per_axis = per_axis;
          options.method = method;
          const auto conversion = converted(model, feed, options);
          EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 15) << converters::options_label(options);
          ++ran;
        }
      }
    }
  }
  EXPECT_EQ(ran, 32);
}

TEST(Converter, WritesItsFilesAndRunsTheArtifact) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n y = Relu (x)\n}", {});
  const auto feed = make_feed(model, 2);
  const auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  const auto& root = folder->path();
  for (const auto* name : {"calibration/0000", "calibration/0001", "out", "in", "result"})
    std::filesystem::create_directories(root / name);
  ASSERT_TRUE(model::save_model(model, root / "model.onnx"));
  ASSERT_TRUE(model::save_tensors(feed[0], root / "calibration/0000", "input"));
  ASSERT_TRUE(model::save_tensors(feed[1], root / "calibration/0001", "input"));
  ASSERT_TRUE(model::save_tensors(feed[0], root / "in", "input"));
  auto converter = make_embedded();
  ASSERT_TRUE(converter);
  converters::Options symmetric;
  symmetric.symmetric = true;
  const auto reply = (*converter)->convert({root / "model.onnx", root / "calibration", symmetric, root / "out"});
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  for (const auto* name :
       {"model.onnx", "scales.json", "precision.json", "calibration.cache", "calibration.trt.cache"}) {
    EXPECT_TRUE(std::filesystem::exists(root / "out" / name)) << name;
  }
  const auto ran = (*converter)->execute({reply.artifact, root / "in", root / "result"});
  ASSERT_EQ(ran.outcome, Outcome::ok) << ran.reason;
  const auto outputs = model::load_tensors(root / "result", "output");
  ASSERT_TRUE(outputs);
  EXPECT_TRUE(outputs->contains("y"));
}

TEST(Converter, ARefusalLeavesNothingBehindAndATruncatedFeedIsNamed) {
  const auto model = make_model("agraph (float[1,2] x) => (float[1,2] y) {\n y = Relu (x)\n}", {});
  const auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  const auto& root = folder->path();
  for (const auto* name : {"calibration/0000", "calibration/0001", "out"})
    std::filesystem::create_directories(root / name);
  ASSERT_TRUE(model::save_model(model, root / "model.onnx"));
  ASSERT_TRUE(model::save_tensors(make_feed(model)[0], root / "calibration/0000", "input"));
  ASSERT_TRUE(core::write_file(root / "calibration/0001/input_0.pb", "\x08\x01\x10"));
  auto converter = make_embedded();
  const auto reply = (*converter)->convert({root / "model.onnx", root / "calibration", {}, root / "out"});
  EXPECT_EQ(reply.outcome, Outcome::error);
  EXPECT_THAT(reply.reason, HasSubstr("batch 1"));
  EXPECT_TRUE(std::filesystem::is_empty(root / "out"));
}

TEST(Converter, AnUnknownFaultListsTheNearest) {
  const auto converter = make_embedded({"bias_droped"});
  ASSERT_FALSE(converter);
  EXPECT_EQ(converter.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(converter.error().message, HasSubstr("bias_dropped"));
  EXPECT_FALSE(make_embedded({}, "rounding"));
}

}  // namespace
}  // namespace assay::embedded
