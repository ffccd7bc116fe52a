// The gate: one run, one exit code (docs/ci.md), and nothing unreported.
#include <gmock/gmock.h>

#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using Gate = HomeTest;

constexpr const char* kOneCase = "mini/stride=1";

TEST_F(Gate, IsZeroWhenEveryVerdictIsGreen) {
  const Call call = run({"run"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("2 planned: 2 pass"));
}

TEST_F(Gate, IsOneWhenAVerdictIsRed) {
  const Call call = run({"run", kOneCase, "--fault", "bias_dropped"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("/assay run mini/stride=1 --options default --fault bias_dropped"));
}

TEST_F(Gate, IsTwoForAWrongOption) {
  EXPECT_EQ(run({"run", "--no-such-option"}).code, 2);
  EXPECT_EQ(run({"no-such-command"}).code, 2);
  const Call call = run({"run", "--converter", "embeded"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("embedded"));
}

TEST_F(Gate, TakesSeveralConvertersAndFaultsInOneRun) {
  const Call call = run({"run", "--converter", "embedded", "--converter", "embedded:scales", "--fault", "bias_dropped",
                         "--fault", "zero_point_ignored", kOneCase, "--json"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_EQ(call.json()["planned"], 2);
}

TEST_F(Gate, IsTwoForAnInvalidCase) {
  write("cases/broken.json", R"json({"family": "broken", "grpah": []})json");
  const Call call = run({"run"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("broken.json"));
  EXPECT_THAT(call.err, HasSubstr("grpah"));
}

TEST_F(Gate, IsThreeWhenAssayItselfFails) {
  const Call call = run({"run", kOneCase}, {{"TMPDIR", "/nonexistent"}});
  EXPECT_EQ(call.code, 3) << call.out << call.err;
}

TEST_F(Gate, IsThreeAndSaysWhatToDoWhereTheDatabaseCannotGrow) {
  core::SpawnOptions options;
  options.arguments = {"sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh", ASSAY_PROGRAM, "run", kOneCase};
  options.working_folder = path("").string();
  options.environment = {{"ASSAY_HOME", path("").string()}};
  const Call call = finished(options);
  EXPECT_EQ(call.code, 3) << call.out << call.err;
  EXPECT_THAT(call.err,
              HasSubstr("the file as large as it may be here (ulimit -f); make room or name another file with "
                        "--db, and a run goes on with --resume"));
}

TEST_F(Gate, IsTwoAndSaysWhatToInstallWhereAConvertersPythonLacksAssay) {
  write("bare.sh", "echo \"ModuleNotFoundError: No module named 'onnx_assay'\" >&2\nexit 1\n");
  const Call call = run({"run", kOneCase, "--converter-cmd", "sh " + path("bare.sh").string()});
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, HasSubstr("has no module onnx_assay: install Assay's wheel there"));
  write("bare.sh", "echo \"ModuleNotFoundError: No module named 'numpy'\" >&2\nexit 1\n");
  EXPECT_THAT(run({"run", kOneCase, "--converter-cmd", "sh " + path("bare.sh").string()}).err,
              HasSubstr("finds no module numpy: install it there if it is a package (python3 -m pip install numpy)"));
}

TEST_F(Gate, IsFiveForAnEmptySelection) {
  const Call call = run({"run", "nothing_of_that_name"});
  EXPECT_EQ(call.code, 5);
  EXPECT_THAT(call.err, HasSubstr("mini"));
}

TEST_F(Gate, IsTwoForADatabaseThatIsNone) {
  write("history.db", "not a database, but longer than the sixteen bytes that tell one");
  const Call call = run({"run", kOneCase, "--db", (path("history.db")).string()});
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, HasSubstr("is no SQLite database"));
}

TEST_F(Gate, IsSixForAnExpectationThatNothingMet) {
  write("suites/expecting.json", R"json({"title": "t", "select": ["*"], "converters": ["embedded"],
        "option_sets": [{"label": "default", "options": {}}],
        "expected_failures": [{"case": "mini/stride=9", "converter": "embedded", "stage": "judge", "facet": "bias",
                               "reason": ".", "url": "https://example.org/1"}]})json");
  const Call call = run({"run", "expecting"});
  EXPECT_EQ(call.code, 6) << call.out << call.err;
}

TEST_F(Gate, OneCaseOfASuiteIsHeldToTheSuitesExpectationsOfIt) {
  write("suites/expecting.json", R"json({"title": "t", "select": ["*"], "converters": ["embedded"],
        "option_sets": [{"label": "plain", "options": {}}, {"label": "even", "options": {"symmetric": true}}],
        "expected_failures": [
          {"case": "mini/stride=2", "converter": "embedded", "stage": "artifact", "facet": "bias", "reason": ".",
           "url": "https://example.org/1"},
          {"case": "mini/stride=1", "converter": "embedded", "stage": "artifact", "facet": "scale", "reason": ".",
           "url": "https://example.org/1"}]})json");
  const Call met = run({"run", "expecting", "--only", "mini/stride=2", "--fault", "bias_dropped", "--json"});
  EXPECT_EQ(met.code, 0) << met.out << met.err;
  EXPECT_EQ(met.json()["verdicts"], (nlohmann::json{{"xfail", 2}})) << met.out;
  const Call other =
      run({"run", "expecting", "--only", "mini/stride=1", "--options", "even", "--fault", "bias_dropped", "--json"});
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  EXPECT_EQ(other.json()["verdicts"], (nlohmann::json{{"xfail-changed", 1}})) << other.out;
  const Call none = run({"run", "expecting", "--only", "mini/stride=3"});
  EXPECT_EQ(none.code, 5) << none.out << none.err;
  EXPECT_THAT(none.err, HasSubstr("expecting has no case that matches \"mini/stride=3\""));
}

TEST_F(Gate, CasesAreSelectedByTheOperatorsOfTheirModels) {
  EXPECT_EQ(run({"list", "default", "--operators", "Conv,Relu"}).out, "mini/stride=1\nmini/stride=2\n");
  EXPECT_EQ(run({"list", "default", "--json"}).json()["cases"][0]["operators"], nlohmann::json{"Conv"});
  const Call run_some = run({"run", "default", "--operators", "Conv", "--only", "*=2", "--json"});
  EXPECT_EQ(run_some.json()["results"].size(), 1U) << run_some.out << run_some.err;
  const Call none = run({"list", "default", "--operators", "Relu,Add"});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("has no case whose model has no operator but Relu,Add"));
}

TEST_F(Gate, ListNamesTheOptionSetsOfEachCase) {
  EXPECT_EQ(run({"list", "default", "--only", "*=2"}).out, "mini/stride=2\n");
  const Call call = run({"list", "--json"});
  EXPECT_EQ(call.json()["cases"][0]["options"], nlohmann::json{"default"}) << call.out;
}

TEST_F(Gate, HoldsNoExpectationAgainstAConverterThatCannotRunHere) {
  write("suites/expecting.json", R"json({"title": "t", "select": ["*"],
        "option_sets": [{"label": "default", "options": {}}],
        "expected_failures": [{"case": "mini/stride=1", "converter": "c", "stage": "judge", "facet": "bias",
                               "reason": ".", "url": "https://example.org/1"}]})json");
  write("nogpu.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\",\"unavailable\":\"no GPU\"}'\n"
        "read line\n");
  const Call call = run({"run", "expecting", "--converter-cmd", "sh " + path("nogpu.sh").string()});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("unsupported: no GPU (2 verdicts)"));
}

TEST_F(Gate, VerdictsSayWhatAnAdapterChanged) {
  write("changing.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\n"
        "i=2\nwhile read line; do\n"
        "  echo '{\"id\":'$i',\"status\":\"error\",\"reason\":\"no\",\"changed\":[\"names were cut\",\"axes were "
        "moved\"]}'\n"
        "  i=$((i+1))\ndone\n");
  const std::vector<std::string> words = {"run", "default", "--converter-cmd", "sh " + path("changing.sh").string()};
  const Call call = run(words);
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("changed before the conversion: names were cut; axes were moved (2 verdicts)"));
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const Call json = run(as_json);
  EXPECT_EQ(json.json()["results"][0]["changed"], "names were cut; axes were moved") << json.out;
  EXPECT_FALSE(json.json()["results"][0].contains("made_by")) << json.out;
}

TEST_F(Gate, IsRedForAnExpectedFailureThatPasses) {
  write("suites/expecting.json", R"json({"title": "t", "select": ["*"], "converters": ["embedded"],
        "option_sets": [{"label": "default", "options": {}}],
        "expected_failures": [{"case": "mini/stride=1", "converter": "embedded", "stage": "judge", "facet": "bias",
                               "reason": ".", "url": "https://example.org/1"}]})json");
  const Call call = run({"run", "expecting", "--json"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_EQ(call.json()["verdicts"]["xpass"], 1);
}

TEST_F(Gate, SaysWhatTheCaseSetsAndPrintsACommandThatWorks) {
  write("cases/fixed.json", R"json({
    "family": "fixed", "title": "per channel only", "tags": ["Conv"], "options": { "per_axis": true },
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) { y = Conv <kernel_shape=[3,2]> (x, w, b) }"],
    "opset": 13,
    "initializers": { "w": { "shape": [5, 3, 3, 2], "data": "normal" }, "b": { "shape": [5], "data": "normal" } },
    "inputs": { "x": { "data": ["typical"], "range": [-3, 2] } }, "kills": ["bias_dropped"] })json");
  const std::string json = R"({"per_axis":false})";
  const Call call = run({"run", "fixed", "--options", json, "--fault", "bias_dropped"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("per_tensor (the case sets per_axis true)"));
  EXPECT_THAT(call.out, HasSubstr("run fixed --options '" + json + "' --fault bias_dropped\n"));
  EXPECT_THAT(run({"run", "mini/stride=1", "--options", json, "-v"}).out, testing::Not(HasSubstr("the case sets")));
  const Call labelled = run({"run", "fixed", "--options", "uint8,per_tensor", "--fault", "bias_dropped"});
  EXPECT_EQ(labelled.code, 1) << labelled.err;
  EXPECT_THAT(labelled.out, HasSubstr("run fixed --options uint8,per_tensor"));
  const Call unknown = run({"run", "fixed", "--options", "per_tenso"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no option set \"per_tenso\""));
  write("per_tensor.sh",
        "#!/bin/sh\nread line\n"
        "echo '{\"id\":1,\"status\":\"ok\",\"name\":\"p\",\"version\":\"1\",\"supports\":{\"per_axis\":false}}'\n"
        "read line\n");
  const Call refused = run({"run", "fixed", "--converter-cmd", "sh " + path("per_tensor.sh").string()});
  EXPECT_THAT(refused.out, HasSubstr("the case requires per_axis true, the converter supports false"));
}

TEST_F(Gate, RefusesAFaultThatChangesNothing) {
  const Call call = run({"run", "mini/stride=1", "--fault", "deconv_axis_zero"});
  EXPECT_EQ(call.code, 2) << call.out;
  EXPECT_THAT(call.err, HasSubstr("--fault deconv_axis_zero changes nothing here"));
  EXPECT_EQ(run({"bundle", "mini/stride=1", "made"}).code, 0);
  EXPECT_EQ(run({"check", "made/model.onnx", "--fault", "deconv_axis_zero"}).code, 2);
  EXPECT_EQ(run({"check", "made/model.onnx", "--fault", "bias_dropped"}).code, 1);
}

TEST_F(Gate, TakesTheLabelOfAnotherSuitesOptionSet) {
  write("suites/strict.json", R"json({"title": "t", "select": ["mini/stride=1"], "converters": ["embedded"],
        "option_sets": [{"label": "strict", "options": {"precision": {"Conv": "int8"}}}]})json");
  const Call call = run({"run", "strict", "--fault", "bias_dropped"});
  EXPECT_THAT(call.out, HasSubstr("run strict --only mini/stride=1 --options strict --fault bias_dropped"));
  EXPECT_EQ(run({"run", "mini/stride=1", "--options", "strict", "--fault", "bias_dropped"}).code, 1);
}

TEST_F(Gate, SkipsOneUnsupportedCase) {
  write("cases/mini16.json", R"json({
    "family": "mini16", "title": "INT16 is out of scope", "tags": ["Relu"],
    "graph": ["agraph (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"], "opset": 13,
    "inputs": { "x": { "data": ["typical"], "range": [-3, 2] } },
    "options": { "method": "mse" }, "kills": ["zero_point_ignored"] })json");
  write("only_minmax.sh",
        "#!/bin/sh\nread line\n"
        "echo '{\"id\":1,\"status\":\"ok\",\"name\":\"m\",\"version\":\"1\",\"supports\":{\"method\":[\"minmax\"]}}'\n"
        "read line\n");
  const Call call = run({"run", "mini16", "--converter-cmd", "sh " + path("only_minmax.sh").string(), "--json"});
  EXPECT_EQ(call.code, 77) << call.out << call.err;
  EXPECT_EQ(call.json()["results"][0]["gate"], "neutral");
  write("nothing.sh",
        "#!/bin/sh\nread line\n"
        "echo '{\"id\":1,\"status\":\"ok\",\"name\":\"m\",\"version\":\"1\",\"supports\":{\"method\":[]}}'\n"
        "read line\n");
  const std::string nothing = "sh " + path("nothing.sh").string();
  const Call several = run({"run", "--converter-cmd", nothing});
  EXPECT_EQ(several.code, 0) << several.out << several.err;
  EXPECT_THAT(several.err, HasSubstr("nothing was judged"));
  EXPECT_EQ(run({"run", "--converter-cmd", nothing, "--skip-unavailable"}).code, 77);
  const Call asked = run({"run", "--converter-cmd", nothing, "--min-judged", "1"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_THAT(asked.err, HasSubstr("0 of 3 verdicts were judged, and --min-judged asks for 1"));
  EXPECT_EQ(run({"run", "--min-judged", "3"}).code, 0);
  EXPECT_EQ(run({"run", "--min-judged", "4"}).code, 5);
}

TEST_F(Gate, ReportsAsManyVerdictsAsPlanned) {
  const Call call = run({"run", "--json"});
  const nlohmann::json json = call.json();
  ASSERT_TRUE(json.is_object()) << call.out << call.err;
  std::size_t total = 0;
  for (const auto& [verdict, count] : json["verdicts"].items()) {
    total += count.get<std::size_t>();
  }
  EXPECT_EQ(json["planned"], total);
  EXPECT_EQ(json["results"].size(), total);
}

TEST_F(Gate, TakesShardsThatTogetherAreTheWhole) {
  std::size_t total = 0;
  for (const char* shard : {"1/2", "2/2"}) {
    const Call call = run({"run", "--shard", shard, "--json"});
    EXPECT_EQ(call.code, 0) << call.out << call.err;
    total += call.json()["planned"].get<std::size_t>();
  }
  EXPECT_EQ(total, 2U);
  EXPECT_EQ(run({"run", "--shard", "3/2"}).code, 2);
}

}  // namespace
}  // namespace assay::test
