#include "harness/corpus/case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "harness/core/text.hpp"
#include "tests/corpus/small_case.hpp"

namespace assay::corpus {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// An example with most keys.
const std::string kExample = R"j({ "family": "deconv_output", "title": "Deconv as output layer",
  "origin": [{ "url": "https://example.org/1", "reported_against": "TensorRT 8.2", "defect": "axis 0 instead of 1" }],
  "tags": ["ConvTranspose"],
  "matrix": { "cin,cout": [[64, 10], [10, 64]], "groups": [1, 2] },
  "graph": ["agraph (float[2,$cin,7,5] x) => (float[2,$cout,14,10] y) {",
            "  y = ConvTranspose <kernel_shape=[2,2], strides=[2,2], group=$groups> (x, w)", "}"],
  "opset": 13,
  "initializers": { "w": { "shape": ["$cin", "$cout/$groups", 2, 2], "data": "normal",
                           "spread": { "axis": 1, "ratio": 50 } } },
  "inputs": { "x": { "data": ["typical", "ties", "saturate", "one_hot"], "range": [-3, 3] } },
  "calibration": { "batches": 8, "seed": 7 },
  "options": { "per_axis": true },
  "expect": { "status": "converts", "precision": { "ConvTranspose": "int8" },
              "scales": { "w": { "axis": 1, "count": "$cout/$groups" } } },
  "kills": ["deconv_axis_zero"] })j";

std::vector<Case> loaded(const std::string& json) {
  auto cases = parse_family(json, "family.json");
  EXPECT_TRUE(cases) << (cases ? "" : cases.error().message);
  return cases ? std::move(*cases) : std::vector<Case>(8);
}

std::string message(const std::string& json) {
  const auto cases = parse_family(json, "family.json");
  if (cases) return "no error";
  EXPECT_EQ(cases.error().kind, core::ErrorKind::invalid_case);
  return cases.error().message;
}

/// A valid family with one thing replaced.
std::string relu_json(const std::string& extra, const std::string& body = "y = Relu (x)") {
  return R"({"family":"f","title":"t","graph":["agraph (float[2,3] x) => (float[2,3] y) {",")" + body +
         R"(","}"],"inputs":{"x":{}})" + extra + "}";
}

TEST(ParseFamily, ExpandsTheDesignsExample) {
  const auto cases = loaded(kExample);
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_EQ(cases[0].name, "deconv_output/cin=64,cout=10,groups=1");
  EXPECT_EQ(cases[3].name, "deconv_output/cin=10,cout=64,groups=2");
  const core::Tensor* w = cases[3].model->graph.initializer("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape(), (core::Shape{10, 32, 2, 2}));
  EXPECT_EQ(cases[3].expect.scales.at("w").count, 32);
  EXPECT_EQ(cases[3].expect.scales.at("w").axis, 1);
  EXPECT_EQ(cases[0].origins[0].reported_against, "TensorRT 8.2");
  EXPECT_EQ(cases[0].steps.size(), 1U);
  EXPECT_EQ(cases[0].model->opset(), 13);
}

TEST(ParseFamily, GivesEachCaseAHashOfWhatItDoesAndNotOfItsWords) {
  const auto cases = loaded(kExample);
  EXPECT_NE(cases[0].content_hash, cases[1].content_hash);
  std::string reworded = kExample;
  reworded.replace(reworded.find("Deconv as output layer"), 22, "Another title entirely");
  EXPECT_EQ(loaded(reworded)[0].content_hash, cases[0].content_hash);
  std::string reseeded = kExample;
  reseeded.replace(reseeded.find("\"seed\": 7"), 9, "\"seed\": 8");
  EXPECT_NE(loaded(reseeded)[0].content_hash, cases[0].content_hash);
}

TEST(ParseFamily, LaysFormsOverTheFamily) {
  const std::string tanh = R"j("graph":["agraph (float[2,3] x) => (float[2,3] y) {","y = Tanh (x)","}"])j";
  const auto cases = loaded(relu_json(R"j(,"tags":["a"],"matrix":{"k":[1,2]},"forms":{"plain":{},)j"
                                      R"j("tanh":{"title":"u","tags":["b"],"matrix":{"m":[3]},)j" +
                                      tanh + "}}"));
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_EQ(cases[0].name, "f/form=plain,k=1");
  EXPECT_EQ(cases[3].name, "f/form=tanh,k=2,m=3");
  EXPECT_THAT(cases[3].tags, ElementsAre("a", "b"));
  EXPECT_EQ(cases[3].model->graph.nodes[0].op_type, "Tanh");
}

TEST(ParseFamily, HidesKeysThatBeginWithAnUnderscore) {
  const auto cases = loaded(relu_json(R"(,"matrix":{"what,_batches":[["few",2],["many",9]]},
      "calibration":{"batches":"$_batches"})"));
  EXPECT_EQ(cases[1].name, "f/what=many");
  EXPECT_EQ(cases[1].calibration.batches, 9);
}

TEST(ParseFamily, WritesListsInNamesWithoutCommas) {
  EXPECT_EQ(loaded(relu_json(R"(,"matrix":{"k":[[1,2]]})"))[0].name, "f/k=1x2");
}

TEST(ParseFamily, RenamesTensorsAndNodes) {
  const auto cases = loaded(R"j({"family":"f","title":"t","graph":["agraph (float[2,3] x) => (float[2,3] y) {",
      "a = Relu (x)","y = Tanh (a)","}"],"names":{"x":"in/0:1","a":"b c"},"node_names":{"y":"last"},
      "inputs":{"in/0:1":{}},"expect":{
  "precision" : { "b c" : "int8", "last" : "fp32" }}})j");
  const model::Graph& graph = cases[0].model->graph;
  EXPECT_EQ(graph.inputs[0].name, "in/0:1");
  EXPECT_EQ(graph.nodes[0].name, "b c");
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("b c"));
  EXPECT_EQ(graph.nodes[1].name, "last");
}

TEST(ParseFamily, LeavesNodesWithoutNames) {
  const auto cases = loaded(relu_json(R"(,"node_names":{"y":""})"));
  EXPECT_TRUE(cases[0].model->graph.nodes[0].unnamed);
  EXPECT_EQ(cases[0].model->graph.nodes[0].name, "y");
  EXPECT_FALSE(loaded(relu_json(""))[0].model->graph.nodes[0].unnamed);
}

TEST(ParseFamily, MergesStepsOverTheCase) {
  const auto cases = loaded(relu_json(R"(,"calibration":{"batches":5,"seed":9},"steps":[{"do":"convert"},
      {"do":"convert","options":{"precision":{"Relu":"fp32"}},"cache":"previous","calibration":{"batch":3}}])"));
  const auto& steps = cases[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].feed.batches, 5);
  EXPECT_EQ(steps[1].feed.batches, 5);
  EXPECT_EQ(steps[1].feed.batch, 3);
  EXPECT_EQ(steps[1].feed.cache, "previous");
  EXPECT_THAT(steps[1].options_json, HasSubstr("fp32"));
}

TEST(ParseFamily, ForgetsEntriesOfAPreviousCacheOnly) {
  const auto step = [](const std::string& rest) {
    return relu_json(R"(,"steps":[{"do":"convert"},{"do":"convert",)" + rest + "}]");
  };
  EXPECT_THAT(loaded(step(R"("cache":"previous","forget":["x"])"))[0].steps[1].feed.forget, ElementsAre("x"));
  EXPECT_THAT(message(step(R"("forget":["x"])")), HasSubstr("forget: needs \"cache\": \"previous\""));
  EXPECT_THAT(message(step(R"("cache":"stale","forget":["x"])")), HasSubstr("previous"));
  EXPECT_THAT(message(step(R"("cache":"previous","forget":["nowhere"])")), HasSubstr("unknown tensor"));
}

TEST(ParseFamily, EditsPreviousCachesAndFeedsNothingBesideACacheOnly) {
  const auto step = [](const std::string& rest) {
    return relu_json(R"(,"steps":[{"do":"convert"},{"do":"convert",)" + rest + "}]");
  };
  EXPECT_EQ(loaded(step(R"("cache":"previous","edit":"version")"))[0].steps[1].feed.edit, "version");
  EXPECT_THAT(message(step(R"("cache":"foreign","edit":"version")")), HasSubstr("edit: needs \"cache\": \"previous\""));
  EXPECT_THAT(message(step(R"("cache":"previous","edit":"words")")), HasSubstr("unknown edit"));
  EXPECT_THAT(message(step(R"("cache":"lost")")), HasSubstr("unknown cache"));
  EXPECT_EQ(loaded(step(R"("cache":"missing","calibration":{"batches":0})"))[0].steps[1].feed.batches, 0);
  EXPECT_THAT(message(step(R"("calibration":{"batches":0})")), HasSubstr("may be 0 beside a cache only"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"batches":0})")), HasSubstr("may be 0 beside a cache only"));
}

TEST(ParseFamily, FeedsInputsInOtherTypesAndShapes) {
  const auto feed = loaded(relu_json(
      R"(,"calibration":{"types":{"x":"float64"},"shapes":{"x":[3]},"extra":["z"],"order":["z","x"]})"))[0]
                        .calibration;
  EXPECT_EQ(feed.types.at("x"), "float64");
  EXPECT_THAT(feed.shapes.at("x"), ElementsAre(3));
  EXPECT_THAT(feed.extra, ElementsAre("z"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"types":{"x":"bool"}})")), HasSubstr("no type of numbers"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"types":{"z":"int32"}})")), HasSubstr("unknown graph input"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"shapes":{"z":[1]}})")), HasSubstr("unknown graph input"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"extra":["y"]})")), HasSubstr("is a tensor of the graph"));
}

TEST(ParseFamily, StatesWhatMayShareAScale) {
  EXPECT_THAT(loaded(relu_json(R"(,"expect":{"same_scale_as":{"y":["x"]}})"))[0].expect.same_scale_as.at("y"),
              ElementsAre("x"));
  EXPECT_THAT(message(relu_json(R"(,"expect":{"same_scale_as":{"q":[]}})")), HasSubstr("unknown tensor \"q\""));
  EXPECT_THAT(message(relu_json(R"(,"expect":{"same_scale_as":{"y":["q"]}})")), HasSubstr("unknown tensor \"q\""));
}

TEST(ParseFamily, NamesFileKeyAndNearestKnownKey) {
  EXPECT_THAT(message(relu_json(R"(,"kill":["a"])")),
              AllOf(HasSubstr("family.json"), HasSubstr("kill"), HasSubstr("kills")));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"batchs":3})")),
              AllOf(HasSubstr("calibration.batchs"), HasSubstr("batches")));
}

TEST(ParseFamily, RefusesWhatWouldCheckNothing) {
  EXPECT_THAT(message(relu_json(R"(,"expect":{"precision":{"Conv":"int8"}})")), HasSubstr("unknown node or operator"));
  EXPECT_THAT(message(relu_json(R"(,"expect":{"scales":{"w":{"axis":1}}})")), HasSubstr("unknown tensor"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"widths":[0.1,0.5]})")), HasSubstr("one of them 1"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"widths":[1,0]})")), HasSubstr("above 0"));
  EXPECT_THAT(message(relu_json(R"(,"initializers":{"w":{"shape":[2]}})")), HasSubstr("no node reads it"));
  EXPECT_THAT(message(relu_json(R"(,"initializers":{"w":{"shape":[3]}})", "y = Add (x, ww)")),
              HasSubstr("(Add) reads \"ww\", which nothing makes; no node reads it"));
  EXPECT_THAT(message(relu_json(R"(,"expect":{"status":"refused"})")), HasSubstr("names node, operator and reason"));
}

TEST(ParseFamily, RefusesBadValuesByTheirPath) {
  EXPECT_THAT(message(relu_json(R"(,"options":{"method":"minmx"})")), HasSubstr("options"));
  EXPECT_THAT(message(relu_json(R"(,"steps":[{"do":"convrt"}])")), HasSubstr("steps[0].do"));
  EXPECT_THAT(message(relu_json(R"(,"calibration":{"drop":["z"]})")), HasSubstr("unknown graph input \"z\""));
  EXPECT_THAT(message(relu_json(R"(,"matrix":{"a,b":[[1]]})")), HasSubstr("every row must hold 2 values"));
  EXPECT_THAT(message(relu_json(R"(,"matrix":{"a":[]})")), HasSubstr("matrix.a"));
  EXPECT_THAT(message(relu_json(R"(,"matrix":{"a":[1,1]})")), HasSubstr("stands there twice"));
}

TEST(ParseFamily, RefusesDuplicateKeysOfAnObject) {
  EXPECT_THAT(message(relu_json(R"(,"kills":[],"kills":["a"])")), HasSubstr("\"kills\" stands twice"));
}

TEST(ParseFamily, RefusesABrokenGraphWithTheParsersWords) {
  EXPECT_THAT(message(relu_json("", "y = Relu (x")), HasSubstr("graph:"));
  EXPECT_THAT(message(relu_json("", "y = Relu (z)")), HasSubstr("graph:"));
  EXPECT_THAT(message("{"), HasSubstr("not valid JSON"));
}

TEST(ParseFamily, DemandsATitleAndADescriptionOfEveryInput) {
  const std::string graph = R"j("graph":["agraph (float[2] x) => (float[2] y) {","y = Relu (x)","}"])j";
  EXPECT_THAT(message(R"({"family":"f",)" + graph + "}"), HasSubstr("title"));
  EXPECT_THAT(message(R"({"family":"f","title":"t",)" + graph + "}"), HasSubstr("graph input \"x\" is not described"));
}

TEST(ParseFamily, BindsSymbolicDimensionsFromTheCase) {
  const std::string graph = R"j("graph":["agraph (float[n,3] x) => (float[n,3] y) {","y = Relu (x)","}"])j";
  EXPECT_THAT(message(R"({"family":"f","title":"t",)" + graph + R"(,"inputs":{"x":{}}})"), HasSubstr("give \"shape\""));
  EXPECT_THAT(message(R"({"family":"f","title":"t",)" + graph + R"(,"inputs":{"x":{"shape":[4,5]}}})"),
              HasSubstr("declared extent 3"));
  const auto cases = loaded(R"({"family":"f","title":"t",)" + graph + R"(,"inputs":{"x":{"shape":[4,3]}}})");
  EXPECT_EQ(data_set(cases[0], "typical", {})->at("x").shape(), (core::Shape{4, 3}));
}

TEST(ParseFamily, KeepsRemoteModelsForLater) {
  const std::string sha(64, 'a');
  auto cases = loaded(R"({"family":"f","title":"t","model":"pypi:no-such-package==1.2/inner/m.onnx","sha256":")" + sha +
                      R"(","inputs":{"x":{}}})");
  EXPECT_EQ(cases[0].model, nullptr);
  ASSERT_TRUE(cases[0].remote);
  EXPECT_EQ(cases[0].remote->package, "no-such-package");
  EXPECT_EQ(cases[0].remote->path, "inner/m.onnx");
  ASSERT_TRUE(load_deferred(cases[0]));
  EXPECT_THAT(cases[0].unavailable, HasSubstr("./assay fetch real"));
}

TEST(ParseFamily, LeavesARemoteModelThatCannotBeReadToItsOwnCase) {
  const std::string bytes = "no model";
  setenv("ASSAY_CACHE", testing::TempDir().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no other thread
  auto cases = loaded(R"({"family":"f","title":"t","model":"pypi:no-such-package==1.3/m.onnx","sha256":")" +
                      core::sha256_hex(bytes) + R"(","inputs":{"x":{}}})");
  unsetenv("ASSAY_CACHE");  // NOLINT(concurrency-mt-unsafe): no other thread
  const std::filesystem::path file = cases[0].remote->file;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << bytes;
  EXPECT_TRUE(load_deferred(cases[0]));
  EXPECT_THAT(cases[0].unavailable, HasSubstr("m.onnx can't be read: "));
  std::filesystem::remove_all(file.parent_path());
}

TEST(ParseFamily, RefusesRemotePathsThatLeaveTheCache) {
  EXPECT_THAT(message(R"({"family":"f","title":"t","model":"pypi:p==1/../m.onnx","sha256":"","inputs":{}})"),
              HasSubstr(".."));
  EXPECT_THAT(message(R"({"family":"f","title":"t","model":"pypi:p/m.onnx","sha256":"","inputs":{}})"),
              HasSubstr("pypi:PACKAGE==VERSION"));
}

TEST(Case, RefusesAMatrixOfTooManyAndNamesWithLineEnds) {
  EXPECT_THAT(message(R"({"family": "f", "matrix": {"a": [0,1,2,3,4,5,6,7,8,9], "b": [0,1,2,3,4,5,6,7,8,9],
    "c": [0,1,2,3,4,5,6,7,8,9], "d": [0,1,2,3,4,5,6,7,8,9], "e": [0,1]}})"),
              HasSubstr("more than 10000 cases"));
  EXPECT_THAT(message(R"({"family": "f\n2382 planned: 2382 pass"})"), HasSubstr("control characters"));
}

TEST(Case, RefusesAPatternThatIsNone) {
  EXPECT_THAT(message(R"({"family": "f", "title": "t", "graph": "agraph (float[1] x) => (float[1] y) { y = Relu (x) }",
    "opset": 13, "inputs": {"x": {}}, "expect": {"diagnostics": ["(("]}})"),
              HasSubstr("no regular expression"));
}

}  // namespace
}  // namespace assay::corpus
