// `assay reduce`, `bisect`, `precision`, and the table by node of `check`.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Localize : public HomeTest {
 protected:
  static std::string data(const std::string& name) { return (test::test_data() / "trt861" / name).string(); }
  /// Two branches into a Concat; with the fault it gets a range that is too narrow.
  [[nodiscard]] Call faulted(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{command,         data("concat_ranges.onnx"),
                                       "--calibration", data("concat_ranges.calibration.npz"),
                                       "--fault",       "concat_range_narrow"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

TEST_F(Localize, CheckShowsTheNodesAndWhatToDoNext) {
  const Call call = faulted("check");
  EXPECT_EQ(call.code, 1);
  EXPECT_THAT(call.out, HasSubstr("(Concat)"));
  EXPECT_THAT(call.out, HasSubstr("<- wrong"));
  EXPECT_THAT(call.out, HasSubstr("first wrong: "));
  EXPECT_THAT(call.out, HasSubstr("/assay reduce"));
  const nlohmann::json nodes = faulted("check", {"--json"}).json()["nodes"];
  ASSERT_FALSE(nodes.empty());
  for (const auto& node : nodes) {
    EXPECT_EQ(node["wrong"].get<bool>(), node["op"] == "Concat") << node;
  }
}

TEST_F(Localize, ReducesToTheConcat) {
  const Call call = faulted("reduce", {"--output", "small", "--json"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  const nlohmann::json json = call.json();
  EXPECT_EQ(json["after"]["nodes"], 1);
  EXPECT_LT(json["after"]["bytes"], 300);
  EXPECT_GT(json["before"]["nodes"], 1);
  const Call again = run({"check", "small/model.onnx", "--calibration", "small/calibration", "--inputs", "small/inputs",
                          "--fault", "concat_range_narrow"});
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_THAT(again.out, HasSubstr("(Concat)"));
  // What was tried is known: the same again asks nothing.
  const nlohmann::json second = faulted("reduce", {"--output", "small", "--json"}).json();
  EXPECT_EQ(second["checks"], 0);
  EXPECT_EQ(second["after"], json["after"]);
}

TEST_F(Localize, ReduceRefusesWhatDoesNotFail) {
  const Call call = run({"reduce", data("concat_ranges.onnx")});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("nothing is wrong"));
  const Call check = run({"reduce", data("concat_ranges.onnx"), "--check", "false"});
  EXPECT_EQ(check.code, 2);
  EXPECT_THAT(check.err, HasSubstr("must exit with 0"));
  EXPECT_EQ(run({"reduce", "nowhere.onnx"}).code, 2);
}

TEST_F(Localize, BisectFindsTheConcatInsideAndByParts) {
  const Call inside = faulted("bisect", {"--json"});
  EXPECT_EQ(inside.code, 1) << inside.err;
  EXPECT_FALSE(inside.json()["cut"]);
  ASSERT_EQ(inside.json()["wrong"].size(), 1U);
  EXPECT_EQ(inside.json()["wrong"][0]["op"], "Concat");
  const Call parts = faulted("bisect", {"--json", "--converter", "embedded:opaque", "--part", "1"});
  EXPECT_EQ(parts.code, 1) << parts.err;
  EXPECT_TRUE(parts.json()["cut"]);
  ASSERT_EQ(parts.json()["wrong"].size(), 1U);
  EXPECT_EQ(parts.json()["wrong"][0]["nodes"].size(), 1U);
  EXPECT_EQ(parts.json()["wrong"][0]["nodes"][0], inside.json()["wrong"][0]["node"]);
  EXPECT_THAT(faulted("bisect").out,
              HasSubstr("\nconclusion: node \"cat\" (Concat) is wrong by itself, and no other\n"));
  EXPECT_THAT(parts.json()["conclusion"].get<std::string>(), HasSubstr("wrong when converted by itself: \""));
  const Call right = run({"bisect", data("concat_ranges.onnx"), "--json"});
  EXPECT_EQ(right.code, 0);
  EXPECT_THAT(right.json()["conclusion"].get<std::string>(), HasSubstr("nothing is red"));
  EXPECT_EQ(faulted("bisect", {"--over", "versions"}).code, 2);
}

TEST_F(Localize, BisectFindsTheBatches) {
  const Call call = faulted("bisect", {"--over", "batches", "--json"});
  EXPECT_EQ(call.code, 1) << call.err;
  EXPECT_EQ(call.json()["needed"].size(), 1U);
  EXPECT_THAT(call.json()["conclusion"].get<std::string>(), HasSubstr("calibration batches 0"));
}

TEST_F(Localize, BisectTakesACaseByItsName) {
  const Call call = run({"bisect", "mini/stride=1", "--fault", "bias_dropped", "--json"});
  EXPECT_EQ(call.code, 1) << call.err;
  EXPECT_EQ(call.json()["wrong"][0]["op"], "Conv");
  const Call several = run({"bisect", "mini"});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, HasSubstr("\"mini\" is no ONNX file and more than one case"));
  const Call with_data = run({"bisect", "mini/stride=1", "--calibration", data("concat_ranges.calibration.npz")});
  EXPECT_EQ(with_data.code, 2);
  EXPECT_THAT(with_data.err, HasSubstr("which has its own data"));
}

TEST_F(Localize, BisectOverOptimizersTakesAConverterThatListsThem) {
  const Call call = faulted("bisect", {"--over", "optimizers"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("lists no optimizers that it can execute without"));
}

/// An artifact of the user's, made with a fault, and what judges it.
class ReadyArtifact : public Localize {
 protected:
  void make(const std::string& fault) {
    ASSERT_EQ(run({"convert", model_, "--calibration", calibration_, "--output", "made", "--fault", fault}).code, 0);
  }
  [[nodiscard]] Call judged(const std::string& command, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {command, model_, "--artifact", "made/model.onnx", "--calibration", calibration_});
    return run(more, shipped_);
  }
  std::string model_ = data("concat_ranges.onnx"), calibration_ = data("concat_ranges.calibration.npz");
  std::map<std::string, std::string> shipped_{{"ASSAY_HOME", source_tree().string()}};
};

TEST_F(ReadyArtifact, ExplainDerivesItsWorstElement) {
  make("per_axis_rolled@cb");
  const Call call = judged("explain", {"--json"});
  ASSERT_EQ(call.code, 0) << call.err;
  const nlohmann::json verdict = call.json();
  EXPECT_EQ(verdict["gate"], "red");
  EXPECT_EQ(verdict["L2"]["local"]["tensor"], "b") << verdict["L2"]["local"];
  EXPECT_GT(verdict["L2"]["local"]["margin"], 100);
  EXPECT_FALSE(verdict["L2"]["local"]["terms"].empty());
  EXPECT_THAT(verdict["made_by"].get<std::string>(), HasSubstr("closest: onnxruntime"));
  const Call text = judged("explain");
  EXPECT_THAT(text.out, HasSubstr("channel 1: expected"));
  EXPECT_THAT(text.err, HasSubstr("calibration given"));
  // Without an artifact the model is converted.
  EXPECT_THAT(run({"explain", model_, "--calibration", calibration_}, shipped_).out, HasSubstr("embedded@"));
  const Call misplaced = run({"explain", "mini/stride=1", "--calibration", calibration_});
  EXPECT_EQ(misplaced.code, 2);
  EXPECT_THAT(misplaced.err, HasSubstr("--calibration goes with a float model of yours"));
}

TEST_F(ReadyArtifact, BisectNamesItsWrongNodesAndConvertsNothing) {
  make("per_axis_rolled@cb");
  const Call call = judged("bisect", {"--json"});
  EXPECT_EQ(call.code, 1) << call.err;
  ASSERT_EQ(call.json()["wrong"].size(), 1U) << call.out;
  EXPECT_EQ(call.json()["wrong"][0]["node"], "cb");
  for (const char* over : {"versions", "batches", "optimizers"}) {
    const Call refused = judged("bisect", {"--over", over});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--artifact is converted already"));
  }
  EXPECT_EQ(judged("bisect", {"--fault", "bias_dropped"}).code, 2);
  EXPECT_EQ(run({"bisect", model_, "--artifact", "nowhere.onnx"}).code, 2);
}

TEST_F(ReadyArtifact, ReduceCutsItWithTheModel) {
  for (const char* fault : {"per_axis_rolled@cb", "concat_range_narrow"}) {
    make(fault);
    const Call call = judged("reduce", {"--output", "small", "--json"});
    ASSERT_EQ(call.code, 0) << fault << call.out << call.err;
    const nlohmann::json json = call.json();
    EXPECT_EQ(json["after"]["nodes"], 1) << fault;
    EXPECT_THAT(json["reproduce"].get<std::string>(), HasSubstr("--artifact small/artifact.onnx"));
    const auto slice = model::load_model(path("small/artifact.onnx"));
    const auto part = model::load_model(path("small/model.onnx"));
    ASSERT_TRUE(slice.ok() && part.ok());
    // Quantizers of the inputs, the node between its own, and nothing of the rest.
    EXPECT_LE(slice->graph.nodes.size(), 8U) << fault;
    ASSERT_EQ(slice->graph.inputs.size(), part->graph.inputs.size());
    EXPECT_EQ(slice->graph.outputs.front().name, part->graph.outputs.front().name);
    const auto again = [&](const std::string& artifact) {
      return run({"check", "small/model.onnx", "--artifact", artifact, "--calibration", "small/calibration", "--inputs",
                  "small/inputs", "--json"},
                 shipped_);
    };
    const Call red = again("small/artifact.onnx");
    EXPECT_EQ(red.code, 1) << red.out;
    const Call whole = judged("check", {"--json"});
    for (const char* same : {"verdict", "stage", "facet", "node"}) {
      EXPECT_EQ(red.json()["results"][0][same], whole.json()["results"][0][same]) << fault;
    }
    // The model and the data alone aren't red: what is wrong is in the slice.
    ASSERT_EQ(run({"convert", "small/model.onnx", "--calibration", "small/calibration", "--output", "right"}).code, 0);
    EXPECT_EQ(again("right/model.onnx").code, 0) << fault;
  }
  ASSERT_EQ(run({"convert", model_, "--calibration", calibration_, "--output", "made"}).code, 0);
  EXPECT_THAT(judged("reduce").err, HasSubstr("nothing is wrong with \"made/model.onnx\""));
}

TEST_F(ReadyArtifact, ReduceJudgesPartsByTheRulesOfTheWhole) {
  const auto parsed = model::parse_graph_text(
      "agraph (float[1,3,12,12] x) => (float[1,6] y) {"
      "  c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w)\n"
      "  n = BatchNormalization (c, gain, shift, mean, variance)\n"
      "  r = Relu (n)\n"
      "  k = Clip (r, low, high)\n"
      "  d = Conv <kernel_shape=[1,1]> (k, v)\n"
      "  a = Add (d, k)\n"
      "  s = Sigmoid (a)\n"
      "  p = GlobalAveragePool (s)\n"
      "  y = Flatten (p)\n}",
      {{"", 13}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  model::Model net = *parsed;
  const auto constant = [&](const std::string& name, const core::Shape& shape, double size, double offset) {
    core::Tensor values = core::Tensor::zeros(core::DType::float32, shape);
    for (std::size_t i = 0; i < values.reals().size(); ++i) {
      values.reals()[i] = static_cast<float>(offset + size * std::sin(3.7 * static_cast<double>(i) + size));
    }
    net.graph.initializers[name] = std::make_shared<const core::Tensor>(std::move(values));
  };
  constant("w", {6, 3, 3, 3}, 0.9, 0);
  constant("v", {6, 6, 1, 1}, 0.4, 0);
  constant("gain", {6}, 0.2, 1);
  constant("shift", {6}, 0.5, 1);
  constant("mean", {6}, 0.3, 0);
  constant("variance", {6}, 0.3, 1);
  constant("low", {}, 0, 0);
  constant("high", {}, 0, 6);
  ASSERT_TRUE(model::save_model(net, path("net.onnx")).ok());
  model_ = path("net.onnx").string();
  ASSERT_EQ(run({"bundle", model_, "kept"}).code, 0);
  calibration_ = path("kept/calibration").string();
  ASSERT_EQ(run({"convert", model_, "--calibration", calibration_, "--output", "made"}).code, 0);
  ASSERT_EQ(judged("check").code, 0) << judged("check").out;
  auto artifact = model::load_model(path("made/model.onnx"));
  ASSERT_TRUE(artifact.ok());
  std::string scale;
  for (const model::Node& node : artifact->graph.nodes) {
    if (node.op_type == "QuantizeLinear" && node.input(0) == "k") scale = node.input(1);
  }
  ASSERT_FALSE(scale.empty());
  core::Tensor wrong = *artifact->graph.initializers.at(scale);
  wrong.reals().front() = static_cast<float>(1.7 * wrong.reals().front());
  artifact->graph.initializers[scale] = std::make_shared<const core::Tensor>(std::move(wrong));
  ASSERT_TRUE(model::save_model(*artifact, path("made/model.onnx")).ok());

  const nlohmann::json whole = judged("check", {"--json"}).json()["results"][0];
  ASSERT_EQ(whole["verdict"], "fail");
  const Call call = judged("reduce", {"--output", "small", "--json"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  const nlohmann::json json = call.json();
  EXPECT_EQ(json["before"]["nodes"], 9);
  EXPECT_EQ(json["after"]["nodes"], 1) << json["stopped_by"];
  EXPECT_EQ(json["stopped_by"], "");
  // By the rules that the whole was judged by, which a part can't tell by itself.
  const std::string again = json["reproduce"].get<std::string>();
  EXPECT_THAT(again, HasSubstr("--made-by"));
  EXPECT_THAT(again, HasSubstr("method"));
  core::SpawnOptions options;
  options.arguments = {"sh", "-c",
                       "cd '" + path("").string() + "' && ASSAY_HOME='" + source_tree().string() + "' " +
                           ASSAY_PROGRAM + again.substr(again.find(" check ")) + " --json"};
  const Call red = finished(options);
  EXPECT_EQ(red.code, 1) << red.out << red.err;
  for (const char* same : {"verdict", "stage", "facet", "node"}) {
    EXPECT_EQ(red.json()["results"][0][same], whole[same]);
  }
}

TEST_F(Localize, ReducedModelsKeepOutputsThatHoldSomething) {
  // Whatever fails here fails on any data: only what the data must hold keeps Relu's input from all zeros.
  const Call call = run({"reduce", data("concat_ranges.onnx"), "--calibration", data("concat_ranges.calibration.npz"),
                         "--check", "true", "--output", "small"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  const auto model = model::load_model(path("small/model.onnx"));
  ASSERT_TRUE(model.ok());
  const auto inputs = data::load_user_data(path("small/inputs"), *model);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  for (const core::TensorMap& batch : *inputs) {
    const auto outputs = reference::execute(*model, batch, {});
    ASSERT_TRUE(outputs.ok());
    for (const auto& [name, value] : *outputs) {
      EXPECT_THAT(value.reals(), testing::Contains(testing::Ne(0.0))) << name;
      EXPECT_THAT(value.reals(), testing::Each(testing::Truly([](double each) { return std::isfinite(each); })));
    }
  }
}

TEST_F(Localize, PrecisionKeepsTheConcatInFloat) {
  const Call call = faulted("precision", {"--json"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  const nlohmann::json json = call.json();
  EXPECT_TRUE(json["needed"]);
  EXPECT_TRUE(json["minimal"]);
  EXPECT_THAT(json["nodes"].get<std::vector<std::string>>(), testing::Contains("cat"));
  EXPECT_EQ(json["options"]["precision"]["cat"], "fp32");
  EXPECT_EQ(faulted("check", {"--options", json["options"].dump()}).code, 0);
}

TEST_F(Localize, PrecisionSaysThatAConverterIgnoresWhatItIsAsked) {
  const Call call = faulted("precision", {"--fault", "float_wish_ignored"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("it doesn't follow options[\"precision\"]"));
  EXPECT_THAT(call.out, testing::Not(HasSubstr("quantization is not the trouble")));
  const nlohmann::json ignored = faulted("precision", {"--fault", "float_wish_ignored", "--json"}).json()["ignored"];
  EXPECT_FALSE(ignored.empty());
}

TEST_F(Localize, PrecisionSaysThatAConverterCannotBeAsked) {
  write("only_minmax.sh",
        "#!/bin/sh\nread line\n"
        "echo '{\"id\":1,\"status\":\"ok\",\"name\":\"m\",\"version\":\"1\",\"supports\":{\"method\":[\"minmax\"]}}'\n"
        "read line\n");
  const Call call =
      run({"precision", data("concat_ranges.onnx"), "--calibration", data("concat_ranges.calibration.npz"), "--options",
           R"({"method": "mse"})", "--converter-cmd", "sh " + path("only_minmax.sh").string()});
  EXPECT_EQ(call.code, 2) << call.out;
  EXPECT_THAT(call.err, HasSubstr("can't be asked: method mse"));
}

}  // namespace
}  // namespace assay::test
