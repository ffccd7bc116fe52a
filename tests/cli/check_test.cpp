// `assay check`, `convert`, `exec` and `compare` on models of the user's.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Check : public HomeTest {
 protected:
  static std::string data(const std::string& name) { return (test::test_data() / "trt861" / name).string(); }
};

TEST_F(Check, JudgesAModelWithItsOwnData) {
  const Call call =
      run({"check", data("three_inputs.onnx"), "--calibration", data("three_inputs.calibration.npz"), "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(call.json()["planned"], 1);
}

TEST_F(Check, GeneratesDataWhereNoneIsGiven) {
  const Call call = run({"check", data("concat_ranges.onnx"), "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
}

TEST_F(Check, ChecksMetamorphicRelationsOnRequest) {
  const Call call = run({"check", data("three_inputs.onnx"), "--metamorphic", "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.json()["results"][0]["layers"], testing::Contains("L3"));
}

TEST_F(Check, JudgesTheEmbeddedArtifactAsWell) {
  const std::string model = data("concat_ranges.onnx");
  const std::string calibration = data("concat_ranges.calibration.npz");
  ASSERT_EQ(run({"convert", model, "--calibration", calibration, "--output", "out"}).code, 0);
  const Call call = run({"check", model, "--artifact", "out/model.onnx", "--calibration", calibration, "--json"},
                        {{"ASSAY_HOME", source_tree().string()}});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.json()["results"][0]["made_by"].get<std::string>(), HasSubstr("judged "));
}

TEST_F(Check, JudgesTwoLevelsOfScalesBehindATranspose) {
  const auto file = [](const char* name) { return (test::test_data() / "nvfp4" / name).string(); };
  const Call right = run({"check", file("float.onnx"), "--artifact", file("modelopt.onnx"), "--json"});
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_EQ(right.json()["results"][0]["verdict"], "pass");
  const Call wrong = run({"check", file("float.onnx"), "--artifact", file("unrounded.onnx"), "--json"});
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_EQ(wrong.json()["results"][0]["facet"], "weight");
}

/// Artifacts that scripts wrote for no converter of ours, right ones and broken ones: tests/data/hand_made/README.md.
TEST_F(Check, JudgesArtifactsOfMakersThatNobodyKnows) {
  const std::filesystem::path folder = test::test_data() / "hand_made";
  const auto file = [&](const nlohmann::json& name) { return (folder / name.get<std::string>()).string(); };
  const auto text = core::read_file(folder / "verdicts.json");
  ASSERT_TRUE(text);
  for (const nlohmann::json& each : nlohmann::json::parse(*text)) {
    std::vector<std::string> words{"check", file(each["model"]), "--artifact", file(each["artifact"]), "--json"};
    if (each.contains("calibration")) words.insert(words.end(), {"--calibration", file(each["calibration"])});
    if (each.contains("options")) words.insert(words.end(), {"--options", each["options"].dump()});
    const Call call = run(words, {{"ASSAY_HOME", source_tree().string()}});
    const nlohmann::json result = call.json()["results"][0];
    EXPECT_EQ(result["verdict"], each["verdict"]) << each << call.out;
    EXPECT_EQ(call.code, each["verdict"] == "pass" ? 0 : 1) << each;
  }
}

TEST_F(Check, JudgesAModelAndAnArtifactOfFloat16) {
  const auto file = [](const char* name) { return (test::test_data() / "halves" / name).string(); };
  const Call made = run({"check", file("float.onnx"), "--json"});
  EXPECT_EQ(made.json()["results"][0]["verdict"], "pass") << made.out << made.err;
  const Call given = run({"check", file("float.onnx"), "--artifact", file("artifact.onnx"), "--calibration",
                          file("calibration.npz"), "--json"});
  EXPECT_EQ(given.json()["results"][0]["verdict"], "pass") << given.out << given.err;
}

TEST_F(Check, NamesWhoseArtifactItJudges) {
  const std::string model = data("concat_ranges.onnx");
  const std::string calibration = data("concat_ranges.calibration.npz");
  ASSERT_EQ(run({"convert", model, "--calibration", calibration, "--output", "out"}).code, 0);
  const std::map<std::string, std::string> shipped{{"ASSAY_HOME", source_tree().string()}};
  const Call named = run(
      {"check", model, "--artifact", "out/model.onnx", "--calibration", calibration, "--made-by", "nncf_onnx@3.4.0"},
      shipped);
  EXPECT_THAT(named.out, HasSubstr("judged by the policy of nncf_onnx 3.4.0")) << named.out << named.err;
  const Call unknown = run({"check", model, "--artifact", "out/model.onnx", "--made-by", "nncf"}, shipped);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("nncf_onnx"));
  // A version that no policy is stated for, a typo say, is not judged by that of another one unseen.
  for (const std::string version : {"1.99", "0.1", ""}) {
    const Call other =
        run({"check", model, "--artifact", "out/model.onnx", "--made-by", "onnxruntime@" + version}, shipped);
    EXPECT_EQ(other.code, 2) << version;
    EXPECT_THAT(other.err, HasSubstr("the policy of onnxruntime is stated for 1.15.1 to 1.32.0, and not for"));
  }
}

TEST_F(Check, AsksForTheRightCalibrationDataWhereEveryRangeDiffers) {
  const std::string model = data("concat_ranges.onnx");
  // Calibrated on generated data.
  ASSERT_EQ(run({"convert", model, "--output", "out", "--fault", "per_axis_rolled@cb"}).code, 0);
  const auto check = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"check",          model,           "--artifact",
                                   "out/model.onnx", "--calibration", data("concat_ranges.calibration.npz")};
    words.insert(words.end(), {"--options", R"({"method":"minmax"})"});
    words.insert(words.end(), more.begin(), more.end());
    return run(words, {{"ASSAY_HOME", source_tree().string()}});
  };
  const auto findings = check({"--json"}).json()["results"][0]["findings"];
  // What no data explain comes first.
  EXPECT_EQ(findings[0]["tensor"], "wb") << findings.dump();
  EXPECT_THAT(findings.dump(), HasSubstr("nearly all: are these the data that the model was calibrated on?"));
  EXPECT_THAT(check({}).out, HasSubstr("is it what the model was calibrated on? Wrong with any data: \"cb\" (Conv)"));
}

TEST_F(Check, SaysHowToStateThatANodeWasLeftInFloatOnPurpose) {
  const std::string model = data("concat_ranges.onnx");
  const std::string calibration = data("concat_ranges.calibration.npz");
  ASSERT_EQ(run({"convert", model, "--calibration", calibration, "--output", "out", "--options",
                 R"({"precision":{"cb":"fp32"}})"})
                .code,
            0);
  const std::map<std::string, std::string> shipped{{"ASSAY_HOME", source_tree().string()}};
  const auto checked = [&](const std::string& options) {
    return run({"check", model, "--artifact", "out/model.onnx", "--calibration", calibration, "--options", options},
               shipped);
  };
  const Call red = checked(R"({"method":"minmax"})");
  EXPECT_EQ(red.code, 1);
  const std::string stated = R"({"method":"minmax","precision":{"cb":"fp32"}})";
  EXPECT_THAT(red.out, HasSubstr("--options '" + stated + "'  # if this node was left in float on purpose")) << red.out;
  EXPECT_EQ(checked(stated).code, 0);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_F(Check, SaysFirstWhichDataWereGivenAndWhichMadeUp) {
  const std::string model = data("concat_ranges.onnx"), given = data("concat_ranges.calibration.npz");
  const auto line = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"check", model});
    return first_line(run(more).out);
  };
  EXPECT_EQ(line({}), "embedded 1.0.0; data: calibration generated (seed 7), inputs generated (seed 1)");
  EXPECT_THAT(line({"--calibration", given}),
              testing::MatchesRegex(
                  "embedded 1.0.0; data: calibration given \\([0-9]+ batch.*\\), inputs not given: calibration data "
                  "stand in \\(.*\\)"));
  EXPECT_THAT(line({"--inputs", given}),
              testing::MatchesRegex(
                  "embedded 1.0.0; data: calibration not given: the inputs stand in \\(.*\\), inputs given .*"));
  ASSERT_EQ(run({"convert", model, "--calibration", given, "--output", "out"}).code, 0);
  EXPECT_EQ(
      line({"--artifact", "out/model.onnx"}),
      "artifact out/model.onnx; data: calibration not given: activations' ranges aren't judged (--calibration), inputs "
      "generated (seed 1)");
  const auto json = run({"check", model, "--artifact", "out/model.onnx", "--json"}).json()["data"];
  EXPECT_EQ(json["calibration"], "unknown");
  EXPECT_EQ(json["inputs"], "generated");
  EXPECT_EQ(json["ranges_judged"], false);
  EXPECT_EQ(run({"check", model, "--json"}).json()["data"]["calibration_seed"], 7);
  EXPECT_EQ(run({"check", model, "--json", "--calibration", given}).json()["data"]["calibration"], "given");
  EXPECT_EQ(first_line(run({"audit", model, "--artifact", "out/model.onnx"}).out),
            "artifact out/model.onnx; data: calibration not given: activations' ranges aren't judged (--calibration)");
  EXPECT_EQ(run({"audit", model, "--artifact", "out/model.onnx", "--json"}).json()["data"]["ranges_judged"], false);
  EXPECT_THAT(run({"convert", model, "--output", "out"}).err, HasSubstr("data: calibration generated (seed 7)"));
}

TEST_F(Check, TheHeadlineIsTheSameInEveryOrderOfTheInputs) {
  const auto model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  const std::vector<double> sizes{1, 0.05, 0.3, 0.01};
  const auto write_inputs = [&](const std::string& folder, const std::vector<std::size_t>& order) {
    for (std::size_t at = 0; at < order.size(); ++at) {
      core::TensorMap batch;
      for (const model::ValueInfo& input : model->graph.inputs) {
        core::Shape shape;
        for (const model::Dimension& extent : *input.shape) shape.push_back(extent.value.value_or(2));
        std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] =
              static_cast<double>(static_cast<float>(sizes[order[at]] * std::sin(1.7 * static_cast<double>(i))));
        }
        batch.emplace(input.name, core::Tensor(input.type, shape, std::move(values)));
      }
      std::filesystem::create_directories(path(folder) / ("000" + std::to_string(at)));
      ASSERT_TRUE(model::save_tensors(batch, path(folder) / ("000" + std::to_string(at)), "input").ok());
    }
  };
  write_inputs("forward", {0, 1, 2, 3});
  write_inputs("turned", {3, 2, 1, 0});
  const auto result = [&](const std::string& folder) {
    return run({"check", data("concat_ranges.onnx"), "--calibration", data("concat_ranges.calibration.npz"), "--inputs",
                folder, "--json"})
        .json()["results"][0];
  };
  const nlohmann::json forward = result("forward"), turned = result("turned");
  for (const char* figure : {"sqnr_db", "whole_sqnr_db", "worst_sqnr_db"}) {
    ASSERT_TRUE(forward[figure].is_number()) << figure << forward;
    EXPECT_NEAR(forward[figure].get<double>(), turned[figure].get<double>(), 1e-6) << figure;
  }
  EXPECT_EQ(forward["sqnr_db"], forward["whole_sqnr_db"]);
  EXPECT_LT(forward["worst_sqnr_db"].get<double>(), forward["whole_sqnr_db"].get<double>() - 3);
  EXPECT_EQ(forward["worst_data_set"], "inputs_1");
  EXPECT_EQ(turned["worst_data_set"], "inputs_2") << "the same data";
  EXPECT_NEAR(forward["predicted_whole_sqnr_db"].get<double>(), forward["whole_sqnr_db"].get<double>(), 1);
  const Call text = run({"check", data("concat_ranges.onnx"), "--calibration", data("concat_ranges.calibration.npz"),
                         "--inputs", "forward"});
  EXPECT_THAT(text.out, HasSubstr(" dB over all data sets ("));
  EXPECT_THAT(text.out, HasSubstr("worst: "));
  EXPECT_THAT(text.out, HasSubstr("on \"inputs_1\""));
}

TEST_F(Check, WhatTheReferenceCantRunIsUnsupportedAndNotTheConvertersRed) {
  const std::string model = data("concat_ranges.onnx");
  ASSERT_EQ(run({"convert", model, "--output", "out"}).code, 0);
  const auto artifact = model::load_model(path("out/model.onnx"));
  ASSERT_TRUE(artifact.ok());
  const auto judged = [&](const std::function<void(model::Model&)>& change) {
    model::Model changed = *artifact;
    change(changed);
    EXPECT_TRUE(model::save_model(changed, path("changed.onnx")).ok());
    return run({"check", model, "--artifact", "changed.onnx"});
  };
  const Call unknown = judged([](model::Model& changed) {
    changed.opsets["com.microsoft"] = 1;
    auto& nodes = changed.graph.nodes;
    const auto concat = std::ranges::find(nodes, "Concat", &model::Node::op_type);
    concat->op_type = "QLinearEverything";
    concat->domain = "com.microsoft";
  });
  EXPECT_EQ(unknown.code, 77) << unknown.out << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("unsupported"));
  EXPECT_THAT(unknown.out, HasSubstr("the reference has no operator \"QLinearEverything\""));
  // What the artifact itself does wrong stays red.
  const Call broken = judged([](model::Model& changed) {
    auto& nodes = changed.graph.nodes;
    std::ranges::find(nodes, "Concat", &model::Node::op_type)->attributes["axis"] = std::int64_t{9};
  });
  EXPECT_EQ(broken.code, 1) << broken.out << broken.err;
}

TEST_F(Check, RefusesBadModelsAndDataWithTheirNames) {
  write("truncated.onnx", core::read_file(data("concat_ranges.onnx"))->substr(0, 300));
  const Call truncated = run({"check", "truncated.onnx"});
  EXPECT_EQ(truncated.code, 2);
  EXPECT_THAT(truncated.err, HasSubstr("truncated.onnx"));
  EXPECT_EQ(run({"check", "absent.onnx"}).code, 2);
  const Call foreign =
      run({"check", data("three_inputs.onnx"), "--calibration", data("concat_ranges.calibration.npz")});
  EXPECT_EQ(foreign.code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("batch 0"));
  EXPECT_EQ(run({"check", data("concat_ranges.onnx"), "--artifact", "absent.onnx"}).code, 2);
}

TEST_F(Check, RefusesADeclaredShapeThatTheRulesContradictByTensor) {
  auto model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  model::ValueInfo& output = model->graph.outputs.front();
  ASSERT_TRUE(output.shape);
  output.shape->front() = {.value = 77, .symbol = {}};
  ASSERT_TRUE(model::save_model(*model, path("wrong.onnx")).ok());
  const Call call = run({"check", "wrong.onnx"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("\"" + output.name + "\" is declared float[77,"));
  EXPECT_THAT(call.err, HasSubstr("the operators' rules give float["));
  EXPECT_EQ(run({"exec", "wrong.onnx", "--output", "out"}).code, 2);
}

TEST_F(Check, RefusesACaseWhoseDeclaredShapeTheRulesContradict) {
  write("cases/wrong.json", R"json({
    "family": "wrong", "title": "a declared shape that can't be", "tags": ["Relu"],
    "graph": ["agraph (float[2,3] x) => (float[2,4] y) { y = Relu(x) }"],
    "inputs": { "x": { "data": ["typical"], "range": [-3, 3] } }, "kills": ["deconv_axis_zero"] })json");
  const Call call = run({"run", "wrong"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("case \"wrong\""));
  EXPECT_THAT(call.err, HasSubstr("\"y\" is declared float[2,4]"));
}

TEST_F(Check, RefusesNaNInTheDataNamingTensorAndBatch) {
  std::filesystem::create_directories(path("calibration/0000"));
  const core::Result<model::Model> model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  const model::ValueInfo& input = model->graph.inputs.front();
  core::Shape shape;
  for (const model::Dimension& dimension : *input.shape) {
    shape.push_back(dimension.value.value_or(1));
  }
  core::Tensor tensor = core::Tensor::zeros(core::DType::float32, shape);
  tensor.reals()[3] = std::nan("");
  ASSERT_TRUE(model::save_tensor({input.name, tensor}, path("calibration/0000/input_0.pb")).ok());
  const Call call = run({"check", data("concat_ranges.onnx"), "--calibration", "calibration"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("\"" + input.name + "\""));
  EXPECT_THAT(call.err, HasSubstr("batch 0"));
  EXPECT_THAT(call.err, HasSubstr("NaN"));
}

/// Quark's default configuration multiplies each layer by what the next one is divided by: what is found of a layer's
/// weights has to count for the next one.
TEST_F(Check, FollowsAnEqualizationThroughSeveralLayers) {
  const auto file = [](const char* name) { return (test::test_data() / "equalized" / name).string(); };
  const Call call = assay({"check", file("float.onnx"), "--artifact", file("q.onnx"), "--calibration",
                           file("calibration.npz"), "--inputs", file("inputs.npz"), "--made-by", "quark"},
                          path(""), {{"ASSAY_HOME", source_tree().string()}});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("judged by the policy of quark 0.13"));
}

TEST_F(Check, ExecutesTheReferenceAndComparesTensors) {
  ASSERT_TRUE(std::filesystem::create_directories(path("in")));
  const core::Result<model::Model> model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  core::TensorMap inputs;
  for (const model::ValueInfo& input : model->graph.inputs) {
    core::Shape shape;
    for (const model::Dimension& dimension : *input.shape) {
      shape.push_back(dimension.value.value_or(1));
    }
    inputs.emplace(input.name, core::Tensor::zeros(core::DType::float32, shape));
  }
  ASSERT_TRUE(model::save_tensors(inputs, path("in"), "input").ok());
  for (const char* folder : {"first", "second"}) {
    const Call call = run({"exec", data("concat_ranges.onnx"), "--inputs", "in", "--output", folder});
    ASSERT_EQ(call.code, 0) << call.err;
  }
  EXPECT_EQ(run({"compare", "first", "second"}).code, 0);
  EXPECT_EQ(run({"compare", "first", "in"}).code, 1);
}

}  // namespace
}  // namespace assay::test
