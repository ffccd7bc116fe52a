// `assay bundle` and `assay replay`.
#include <gmock/gmock.h>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Bundle : public HomeTest {
 protected:
  [[nodiscard]] nlohmann::json index(const std::string& folder) const {
    const auto text = core::read_file(path(folder) / "bundle.json");
    return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  }
  /// A corpus elsewhere, that holds nothing of the bundle's.
  [[nodiscard]] Call replay_elsewhere(std::vector<std::string> arguments) const {
    std::filesystem::create_directories(path("elsewhere/cases"));
    std::filesystem::create_directories(path("elsewhere/suites"));
    arguments.insert(arguments.begin(), "replay");
    return run(arguments, {{"ASSAY_HOME", path("elsewhere").string()}});
  }
  [[nodiscard]] bool holds(const std::string& name) const { return std::filesystem::exists(path(name)); }
};

TEST_F(Bundle, KeepsAPassWithAllItWasMadeFrom) {
  const Call call = run({"bundle", "mini/stride=1", "kept"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("/assay replay kept"));
  for (const char* name : {"model.onnx", "calibration/0007/input_0.pb", "inputs/typical/input_0.pb",
                           "inputs/saturate/input_0.pb", "artifact/model.onnx", "outputs/typical/output_0.pb",
                           "expected/saturate/output_0.pb", "README.md", "replay.sh"}) {
    EXPECT_TRUE(holds(std::string("kept/") + name)) << name;
  }
  const nlohmann::json json = index("kept");
  EXPECT_EQ(json["verdict"]["verdict"], "pass");
  EXPECT_EQ(json["converter"]["name"], "embedded");
  EXPECT_TRUE(json["converter"]["description"]["policy"].contains("weights"));
  EXPECT_EQ(json["environment"]["assay"], "0.1.0");
  EXPECT_FALSE(json["environment"]["commit"].get<std::string>().empty());
  const auto x = std::ranges::find(json["parameters"], "x", [](const auto& each) { return each["tensor"]; });
  ASSERT_NE(x, json["parameters"].end());
  EXPECT_NEAR((*x)["expected"]["scale"][0].get<double>(), (*x)["obtained"][0]["scale"][0].get<double>(), 1e-6);
  EXPECT_FALSE(holds(".assay"));
}

TEST_F(Bundle, KeepsTheReferenceInItsOwnPrecision) {
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept"}).code, 0);
  const auto expected = model::load_tensors(path("kept/expected/typical"), "output");
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->at("y").type(), core::DType::float64);
}

TEST_F(Bundle, IsJudgedAgainFromTheFolderAlone) {
  ASSERT_EQ(run({"bundle", "mini/stride=2", "kept"}).code, 0);
  std::filesystem::rename(path("kept"), path("moved"));
  std::filesystem::remove_all(path("cases"));
  const Call call = replay_elsewhere({"moved"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("the verdict is the recorded one"));
}

TEST_F(Bundle, OfARedVerdictKeepsItsReason) {
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept", "--fault", "bias_dropped"}).code, 0);
  EXPECT_EQ(index("kept")["verdict"]["verdict"], "fail");
  EXPECT_EQ(replay_elsewhere({"kept"}).code, 0);
  const Call again = replay_elsewhere({"kept", "--convert", "--json"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_EQ(again.json()["replayed"]["verdict"], "fail");
}

TEST_F(Bundle, ConvertedByAConverterWithoutTheDefectIsAnotherVerdict) {
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept", "--fault", "bias_dropped"}).code, 0);
  const Call call = replay_elsewhere({"kept", "--convert", "--converter", "embedded"});
  EXPECT_EQ(call.code, 1);
  EXPECT_THAT(call.out, HasSubstr("verdict differs: recorded fail, now pass"));
}

TEST_F(Bundle, NamesWhatDiffersWhereAnOutputWasChanged) {
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept"}).code, 0);
  const auto outputs = model::load_tensors(path("kept/outputs/typical"), "output");
  ASSERT_TRUE(outputs);
  core::TensorMap changed = *outputs;
  changed.at("y").reals()[5] += 100;
  ASSERT_TRUE(model::save_tensors(changed, path("kept/outputs/typical"), "output"));
  const Call call = replay_elsewhere({"kept"});
  EXPECT_EQ(call.code, 1);
  EXPECT_THAT(call.out, HasSubstr("verdict differs: recorded pass, now fail"));
}

TEST_F(Bundle, HoldsRefusalsToo) {
  write("cases/refused.json", R"json({
    "family": "refused", "title": "no INT8 form", "tags": ["CumSum"],
    "graph": ["agraph (float[2,3] x) => (float[2,3] y) { y = CumSum(x, axis) }"],
    "initializers": { "axis": { "type": "int64", "shape": [], "data": "values", "values": [1] } },
    "inputs": { "x": { "data": ["typical"], "range": [-3, 2] } },
    "options": { "precision": { "CumSum": "int8" } } })json");
  const Call call = run({"bundle", "refused", "kept"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(index("kept")["verdict"]["verdict"], "refused");
  EXPECT_TRUE(holds("kept/inputs/typical/input_0.pb"));
  EXPECT_TRUE(holds("kept/expected/typical/output_0.pb"));
  EXPECT_FALSE(holds("kept/outputs"));
  EXPECT_EQ(replay_elsewhere({"kept"}).code, 0);
  EXPECT_EQ(replay_elsewhere({"kept", "--convert"}).code, 0);
}

TEST_F(Bundle, HoldsCrashesToo) {
  const std::string dies =
      R"(sh -c 'read line; echo "{\"id\":1,\"status\":\"ok\",\"name\":\"dies\",\"version\":\"1\"}"; read line; kill -SEGV $$')";
  const Call call = run({"bundle", "mini/stride=1", "kept", "--converter-cmd", dies});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(index("kept")["verdict"]["verdict"], "crash");
  EXPECT_EQ(index("kept")["conversions"][0]["reply"]["status"], "crash");
  EXPECT_EQ(replay_elsewhere({"kept"}).code, 0);
  // A command that stands in a bundle is whoever's; it is shown, and runs only where it is named.
  const Call asked = replay_elsewhere({"kept", "--convert"});
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("kill -SEGV"));
  EXPECT_EQ(replay_elsewhere({"kept", "--convert", "--converter-cmd", dies}).code, 0);
}

TEST_F(Bundle, HoldsEveryKindOfArtifact) {
  for (const std::string kind : {"scales", "opaque"}) {
    ASSERT_EQ(run({"bundle", "mini/stride=1", kind, "--converter", "embedded:" + kind}).code, 0);
    EXPECT_EQ(index(kind)["artifact_kind"], kind);
    const Call call = replay_elsewhere({kind});
    EXPECT_EQ(call.code, 0) << call.out << call.err;
  }
}

TEST_F(Bundle, HoldsEveryStepOfACase) {
  write("cases/steps.json", R"json({
    "family": "steps", "title": "a cache reused, one that has lost an entry, a stale one", "tags": ["Conv"],
    "matrix": { "what,_cache,_forget": [["previous", "previous", []], ["gap", "previous", ["x"]], ["stale", "stale", []],
                ["foreign", "foreign", []], ["missing", "missing", []]] },
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) { y = Conv <kernel_shape=[3,2]> (x, w) }"],
    "initializers": { "w": { "shape": [5, 3, 3, 2] } },
    "inputs": { "x": { "data": ["typical", "ties"], "range": [-3, 2] } },
    "steps": [ { "do": "convert" }, { "do": "convert", "cache": "$_cache", "forget": "$_forget" } ] })json");
  for (const std::string cache : {"previous", "gap", "stale", "foreign", "missing"}) {
    ASSERT_EQ(run({"bundle", "steps/what=" + cache, cache}).code, 0);
    const Call call = replay_elsewhere({cache});
    EXPECT_EQ(call.code, 0) << call.out << call.err;
    const Call again = replay_elsewhere({cache, "--convert"});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
  }
  EXPECT_TRUE(holds("previous/earlier/0"));
}

TEST_F(Bundle, HoldsMetamorphicRelations) {
  write("cases/related.json", R"json({
    "family": "related", "title": "converted twice", "tags": ["Conv"], "metamorphic": ["twice", "names"],
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) { y = Conv <kernel_shape=[3,2]> (x, w) }"],
    "initializers": { "w": { "shape": [5, 3, 3, 2] } },
    "inputs": { "x": { "data": ["typical"], "range": [-3, 2] } } })json");
  ASSERT_EQ(run({"bundle", "related", "kept"}).code, 0);
  EXPECT_THAT(index("kept")["relations"]["held"], testing::Contains("twice"));
  const Call call = replay_elsewhere({"kept"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(replay_elsewhere({"kept", "--convert"}).code, 0);
}

TEST_F(Bundle, TakesAModelOfTheUsersAndItsArtifact) {
  const std::string model = (test_data() / "trt861" / "three_inputs.onnx").string();
  const std::string calibration = (test_data() / "trt861" / "three_inputs.calibration.npz").string();
  ASSERT_EQ(run({"bundle", model, "kept", "--calibration", calibration}).code, 0);
  EXPECT_EQ(replay_elsewhere({"kept"}).code, 0);
  const std::string artifact = path("kept/artifact/model.onnx").string();
  ASSERT_EQ(run({"bundle", model, "ready", "--calibration", calibration, "--artifact", artifact}).code, 0);
  EXPECT_EQ(replay_elsewhere({"ready"}).code, 0);
  const Call call = replay_elsewhere({"ready", "--convert"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("name a --converter"));
  EXPECT_EQ(replay_elsewhere({"ready", "--convert", "--converter", "embedded"}).code, 0);
}

TEST_F(Bundle, TakesTheFirstRedOptionSet) {
  write("suites/default.json", R"({"title": "all", "select": ["*"], "converters": ["embedded"],
      "option_sets": [{"label": "plain", "options": {}}, {"label": "coarse", "options": {"per_axis": false}}]})");
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept", "--fault", "bias_dropped"}).code, 0);
  EXPECT_EQ(index("kept")["options"]["label"], "plain");
  ASSERT_EQ(run({"bundle", "mini/stride=1", "named", "--options", "coarse"}).code, 0);
  EXPECT_EQ(index("named")["options"]["label"], "coarse");
}

TEST_F(Bundle, LeavesNothingBehindWhereItCannotBeMade) {
  std::filesystem::create_directories(path("taken"));
  write("taken/file", "");
  const Call taken = run({"bundle", "mini/stride=1", "taken"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("\"taken\" exists already"));
  EXPECT_EQ(run({"bundle", "mini", "several"}).code, 2);
  EXPECT_EQ(run({"bundle", "nothing", "absent"}).code, 2);
  EXPECT_EQ(run({"bundle", "absent.onnx", "absent"}).code, 2);
  EXPECT_EQ(run({"bundle", "mini/stride=1", "broken", "--converter-cmd", "false"}).code, 2);
  for (const auto& entry : std::filesystem::directory_iterator(path("."))) {
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("cases", "suites", "taken"));
  }
}

TEST_F(Bundle, RefusesADamagedFolder) {
  EXPECT_EQ(replay_elsewhere({"absent"}).code, 2);
  ASSERT_EQ(run({"bundle", "mini/stride=1", "kept"}).code, 0);
  std::filesystem::remove(path("kept/inputs/typical/input_0.pb"));
  const Call incomplete = replay_elsewhere({"kept"});
  EXPECT_EQ(incomplete.code, 2);
  EXPECT_THAT(incomplete.err, HasSubstr("inputs/typical"));
  write("kept/bundle.json", R"({"assay_bundle": 9})");
  const Call later = replay_elsewhere({"kept"});
  EXPECT_EQ(later.code, 2);
  EXPECT_THAT(later.err, HasSubstr("format 9"));
}

}  // namespace
}  // namespace assay::test
