// What is said of a wrong input: what is wrong, where, and what to do, with the nearest names.
#include <gmock/gmock.h>
#include <unistd.h>

#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class Errors : public HomeTest {
 protected:
  /// What is said of a command that must fail as wrong usage, or with `code`.
  [[nodiscard]] std::string said(const Words& words, int code = 2) const {
    const Call call = run(words);
    EXPECT_EQ(call.code, code) << call.out << call.err;
    return call.err;
  }
  void save(const std::string& name, const std::string& graph, std::int64_t opset = 13) const {
    const auto model = model::parse_graph_text(graph, {{"", opset}});
    ASSERT_TRUE(model.ok()) << model.error().message;
    ASSERT_TRUE(model::save_model(*model, path(name)).ok());
  }
  /// Writes an .npz of float32 zeros: name → shape as Python writes it.
  void write_npz(const std::string& name, const std::map<std::string, std::string>& arrays) const {
    std::string script =
        "import struct, zipfile, math\n"
        "archive = zipfile.ZipFile('" +
        path(name).string() +
        "', 'w')\n"
        "def add(name, shape):\n"
        "    text = \"{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\" % (shape,)\n"
        "    data = b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(text)) + text.encode() + b'\\0\\0\\0\\0' * "
        "math.prod(shape)\n"
        "    archive.writestr(name + '.npy', data)\n";
    for (const auto& [array, shape] : arrays) script += "add('" + array + "', " + shape + ")\n";
    core::SpawnOptions options;
    options.arguments = {"python3", "-c", script + "archive.close()\n"};
    const Call call = finished(options);
    ASSERT_EQ(call.code, 0) << call.err;
  }
  static constexpr const char* kRelu = "agraph (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Relu (x) }";
};

TEST_F(Errors, AnArrayWithoutTheBatchAxisIsExplained) {
  save("relu.onnx", kRelu);
  write_npz("batch.npz", {{"x", "(1, 3, 8, 8)"}});
  write_npz("sample.npz", {{"x", "(3, 8, 8)"}});
  write_npz("other.npz", {{"x", "(2, 1, 4, 8, 8)"}});
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "batch.npz"}),
              AllOf(HasSubstr("array \"x\" has shape [1,3,8,8]. Its first axis counts the batches"),
                    HasSubstr("the model declares [1,3,8,8] for one batch"), HasSubstr("numpy.stack"),
                    HasSubstr("array[None]")));
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "sample.npz"}), HasSubstr("array[None, None]"));
  EXPECT_THAT(said({"check", "relu.onnx", "--inputs", "other.npz"}),
              AllOf(HasSubstr("these are 2 batches of shape [1,4,8,8]"), Not(HasSubstr("None"))));
}

TEST_F(Errors, AStackOfSamplesSaysHowItBecomesBatches) {
  save("relu.onnx", kRelu);
  save("pairs.onnx", "agraph (float[2,3,8,8] x) => (float[2,3,8,8] y) { y = Relu (x) }");
  write_npz("stack.npz", {{"x", "(8, 3, 8, 8)"}});
  write_npz("odd.npz", {{"x", "(7, 3, 8, 8)"}});
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "stack.npz"}),
              AllOf(HasSubstr("the model declares [1,3,8,8] for one batch. array.reshape(8,1,3,8,8) makes 8 batches of "
                              "these 8 samples; or declare the model's first axis free"),
                    HasSubstr("give array[None], one batch of 8")));
  EXPECT_THAT(said({"check", "pairs.onnx", "--calibration", "stack.npz"}), HasSubstr("array.reshape(4,2,3,8,8)"));
  EXPECT_THAT(said({"check", "pairs.onnx", "--calibration", "odd.npz"}), Not(HasSubstr("reshape")));
}

TEST_F(Errors, AnArchiveWithOtherKeysSaysWhichThereAre) {
  save("relu.onnx", kRelu);
  write_npz("keys.npz", {{"xx", "(1, 1, 3, 8, 8)"}, {"label", "(1, 10)"}});
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "keys.npz"}),
              HasSubstr("no data for input \"x\"; the data are named: \"xx\", \"label\""));
}

TEST_F(Errors, DataThatHoldNothingSayWhatIsWanted) {
  save("relu.onnx", kRelu);
  write_npz("none.npz", {});
  std::filesystem::create_directories(path("empty"));
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "none.npz"}),
              AllOf(HasSubstr("none.npz holds no array"), HasSubstr("\"x\"")));
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "empty"}),
              AllOf(HasSubstr("\"empty\" holds no data"), HasSubstr("input_0.pb"), HasSubstr("\"x\"")));
  EXPECT_THAT(said({"check", "relu.onnx", "--calibration", "nosuch.npz"}),
              HasSubstr("there is no file or folder \"nosuch.npz\""));
}

TEST_F(Errors, BadJsonNamesLineAndColumn) {
  write("cases/broken.json", "{\"family\": \"x\",\n  \"tags\": [,]}");
  EXPECT_THAT(said({"run", "mini"}), AllOf(HasSubstr("broken.json"), HasSubstr("line 2, column 12")));
  EXPECT_THAT(said({"run", "mini/stride=1", "--options", "{\"activation\" \"int8\"}"}),
              HasSubstr("options: not valid JSON: line 1, column 20"));
}

TEST_F(Errors, AMisspeltVerbOrFlagGetsTheNearest) {
  EXPECT_THAT(said({"rnu"}), AllOf(HasSubstr("there is no command \"assay rnu\""), HasSubstr("run")));
  EXPECT_THAT(said({"converters", "instal"}), HasSubstr("the nearest are: install"));
  EXPECT_THAT(said({"run", "--jbos", "3"}), HasSubstr("assay run has no option \"--jbos\"; the nearest are: --jobs"));
  EXPECT_THAT(said({"check", "net.onnx", "--calib", "x"}), HasSubstr("the nearest are: --calibration"));
  EXPECT_THAT(said({"lint", "--quiet=1"}), HasSubstr("\"--quiet\""));
  EXPECT_THAT(said({"drift"}), HasSubstr("needs --converter: Converter, NAME"));
  EXPECT_THAT(said({"history", "a", "b"}), HasSubstr("does not know what to do with \"b\""));
  EXPECT_THAT(said({}), HasSubstr("say what to do: run, check"));
}

TEST_F(Errors, AValueOutOfItsRangeSaysTheRange) {
  EXPECT_THAT(said({"run", "--jobs", "-3"}),
              AllOf(HasSubstr("--jobs: must be 0 or more, not \"-3\""), Not(HasSubstr("e+"))));
  EXPECT_THAT(said({"run", "--timeout", "0"}), HasSubstr("--timeout: must be more than 0"));
  EXPECT_THAT(said({"completion", "bsh"}), HasSubstr("\"bsh\" is none of bash, zsh, fish"));
}

TEST_F(Errors, AMisspeltCaseSuiteFaultVariantOrOptionGetsTheNearest) {
  EXPECT_THAT(said({"run", "mini/stride=11"}, 5), HasSubstr("near it: mini/stride=1, mini/stride=2"));
  EXPECT_THAT(said({"run", "defualt"}, 5), HasSubstr("near it: default"));
  EXPECT_THAT(run({"lint", "defualt"}).out, HasSubstr("there is no suite \"defualt\"; the nearest of 1 are: default"));
  for (const Words& command :
       {Words{"run", "mini"}, Words{"explain", "mini/stride=1"}, Words{"bundle", "mini/stride=1", "b"}}) {
    Words words = command;
    words.insert(words.end(), {"--fault", "bias_droped"});
    EXPECT_THAT(said(words), HasSubstr("there is no fault \"bias_droped\"; nearest: bias_dropped"));
  }
  EXPECT_THAT(said({"run", "mini", "--variant", "percentil"}),
              HasSubstr("there is no variant \"percentil\"; nearest: percentile"));
  EXPECT_THAT(said({"run", "mini", "--options", "defualt"}),
              HasSubstr("there is no option set \"defualt\"; there are: default"));
  EXPECT_THAT(said({"run", "mini", "--options", R"({"activatoin": "int8"})"}), HasSubstr("the keys are activation"));
}

TEST_F(Errors, ALabelThatSuitesUseForDifferentOptionsIsNotGuessed) {
  const auto suite = [](const std::string& options) {
    return R"({"title": "t", "select": ["*"], "converters": ["embedded"], "option_sets": [{"label": "one", "options": )" +
           options + R"(}, {"label": "uint8", "options": {"symmetric": true}}]})";
  };
  write("suites/a.json", suite("{}"));
  const std::vector<std::string> words{"run", "mini/stride=1", "--options", "one", "-v"};
  EXPECT_THAT(run(words).out, HasSubstr("1 planned: 1 pass"));
  write("suites/b.json", suite(R"({"activation": "uint8"})"));
  EXPECT_THAT(said(words), HasSubstr("is {} in suite a and {\"activation\":\"uint8\"} in suite b: name the suite"));
  // What a label spells out is what it means where no suite is named, and what was run under a suite's is repeated
  // there.
  EXPECT_THAT(run({"run", "a", "--options", "uint8", "--fault", "bias_dropped"}).out,
              HasSubstr("reproduce: ./assay run a --only mini/stride=1 --options uint8 --fault bias_dropped"));
  EXPECT_THAT(run({"run", "mini/stride=1", "--options", "uint8", "--fault", "bias_dropped"}).out,
              HasSubstr("reproduce: ./assay run mini/stride=1 --options uint8 --fault bias_dropped"));
}

TEST_F(Errors, AFaultIsOfTheEmbeddedConverterAlone) {
  EXPECT_THAT(said({"run", "mini", "--converter-cmd", "sh converter.sh", "--fault", "bias_dropped"}),
              HasSubstr("--fault is of the embedded converter"));
}

TEST_F(Errors, CasesAreTakenFromAFileOrFolder) {
  std::filesystem::create_directories(path("mine"));
  std::string family = kMiniFamily;
  family.replace(family.find("\"mini\""), 6, "\"own\"");
  write("mine/own.json", family);
  for (const char* named : {"./mine/own.json", "mine/own.json", "./mine", "mine/", "mine"}) {
    const Call call = run({"run", named, "--json"});
    EXPECT_EQ(call.code, 0) << call.err;
    EXPECT_EQ(call.json()["planned"], 2) << named;
  }
  const Call picked = run({"run", "mine/own.json", "own/stride=2", "--fault", "bias_dropped"});
  EXPECT_EQ(picked.code, 1);
  EXPECT_THAT(
      picked.out,
      HasSubstr("assay run mine/own.json own/stride=2 --only own/stride=2 --options default --fault bias_dropped"));
  EXPECT_THAT(said({"run", "./nosuch.json"}, 5), HasSubstr("there is no file or folder \"./nosuch.json\" of cases"));
  EXPECT_THAT(said({"run", "mine/*.json"}, 5), HasSubstr("without quotes the shell"));
  EXPECT_THAT(run({"run", "mine", "--fault", "bias_dropped"}).out,
              HasSubstr("assay run mine/ own/stride=1 --options default --fault"));
  std::filesystem::create_directories(path("mine/empty"));
  EXPECT_THAT(said({"run", "./mine/empty"}), HasSubstr("holds no case"));
}

TEST_F(Errors, EveryWordSelectsSomething) {
  std::filesystem::create_directories(path("mine"));
  std::string family = kMiniFamily;
  family.replace(family.find("\"mini\""), 6, "\"own\"");
  write("mine/own.json", family);
  write("suites/one.json", R"({"title": "t", "select": ["mini/stride=1"]})");
  write("gate.json", R"({"title": "t", "select": ["mine/own.json"], "exclude": ["own/stride=2"],
                         "option_sets": [{"label": "symmetric", "options": {"symmetric": true}}]})");
  const auto selected = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "list");
    return run(words).out;
  };
  const std::string own = "own/stride=1\nown/stride=2\n";
  EXPECT_EQ(selected({"one", "mine/own.json"}), "mini/stride=1\n" + own);
  EXPECT_EQ(selected({"mine/own.json", "mini/stride=2"}), "mini/stride=2\n" + own);
  EXPECT_EQ(selected({"gate.json"}), "own/stride=1\n");
  EXPECT_EQ(run({"lint", "gate.json"}).code, 0);
  // What the suite selects of the file runs under the suite's options, the rest under the usual ones.
  const nlohmann::json both = run({"run", "gate.json", "mine/own.json", "--json"}).json()["results"];
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0]["options"], "symmetric");
  EXPECT_EQ(both[1]["options"], "default");
  // A printed command repeats the one verdict, whichever word selected it.
  const Call red = run({"run", "one", "mine/own.json", "--fault", "bias_dropped"});
  EXPECT_THAT(red.out,
              HasSubstr("assay run one mine/own.json --only own/stride=1 --options default --fault bias_dropped"));
  EXPECT_EQ(selected({"one", "mine/own.json", "--only", "mini/stride=1"}), "mini/stride=1\n");
}

TEST_F(Errors, ASuiteSelectsTheCasesOfAnotherAndHoldsACommand) {
  write(
      "suites/one.json",
      R"({"title": "t", "select": ["mini/stride=1"], "option_sets": [{"label": "symmetric", "options": {"symmetric": true}}]})");
  write("suites/circle.json", R"({"title": "t", "select": ["ring"]})");
  write("suites/ring.json", R"({"title": "t", "select": ["circle"]})");
  write("mine.json", nlohmann::json{{"title", "t"},
                                    {"select", {"one"}},
                                    {"converters", {std::string(ASSAY_PROGRAM) + " worker --fault bias_dropped"}}}
                         .dump());
  EXPECT_EQ(run({"list", "mine.json"}).out, "mini/stride=1\n");
  const Call red = run({"run", "mine.json"});
  EXPECT_EQ(red.code, 1) << red.out << red.err;
  EXPECT_THAT(red.out, AllOf(HasSubstr("1 planned: 1 fail"), HasSubstr("--converter-cmd '")));
  EXPECT_THAT(said({"run", "circle"}), HasSubstr("suite \"circle\" selects itself, by circle, ring"));
}

TEST_F(Errors, OptionSetsThatACaseMakesEqualAreOne) {
  std::string family = kMiniFamily;
  family.replace(family.find("\"kills\""), 0, R"("options": {"symmetric": true, "activation": "int8"}, )");
  write("own.json", family);
  write("suites/default.json", R"({"title": "all", "select": ["*"], "option_sets": [{"label": "default", "options": {}},
        {"label": "uint8", "options": {"activation": "uint8"}}, {"label": "per_tensor", "options": {"per_axis": false}}]})");
  const nlohmann::json results = run({"run", "./own.json", "--only", "mini/stride=1", "--json"}).json()["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["options"], "default");
  EXPECT_EQ(results[1]["options"], "per_tensor");
}

TEST_F(Errors, AFolderWithoutSuitesIsNamed) {
  std::filesystem::remove_all(path("suites"));
  const std::string said = run({"lint", "mini"}).out + this->said({"run", "mini"});
  EXPECT_THAT(said, AllOf(HasSubstr("suites\" holds none (ASSAY_HOME names"), Not(HasSubstr("nearest of 0"))));
}

TEST_F(Errors, AnExpectedShapeOrTypeMustBeOneThatTheOperatorsMake) {
  const auto with = [&](const std::string& expect) {
    std::string family = kMiniFamily;
    family.replace(family.find("\"kills\""), 0, "\"expect\": " + expect + ", ");
    write("own.json", family);
  };
  with(R"({"shape": {"y": [2, 64, 7, 6]}})");
  const auto contradiction =
      HasSubstr("expect.shape: output \"y\" is stated as [2,64,7,6], and the operators make [2,5,");
  for (const char* command : {"run", "lint", "list"}) EXPECT_THAT(said({command, "./own.json"}), contradiction);
  with(R"({"dtype": {"y": "int8"}})");
  EXPECT_THAT(said({"lint", "./own.json"}), HasSubstr("output \"y\" is stated as int8, and the operators make float"));
  with(R"({"shape": {"y": [2, 64, 7, 6]}, "status": "refused", "refused": {"reason": "x"}})");
  EXPECT_EQ(run({"lint", "./own.json"}).code, 0) << "nothing is made";
}

TEST_F(Errors, AFaultThatACaseClaimsMustExist) {
  std::string family = kMiniFamily;
  family.replace(family.find("bias_dropped"), 12, "bias_droped");
  std::filesystem::create_directories(path("mine"));
  write("mine/own.json", family);
  const auto nearest = AllOf(HasSubstr("mini/stride=1"), HasSubstr("no fault \"bias_droped\"; nearest: bias_dropped"));
  for (const char* command : {"run", "lint", "list"}) EXPECT_THAT(said({command, "./mine/own.json"}), nearest);
  write("cases/mini.json", family);
  const Call corpus = run({"lint"});
  EXPECT_EQ(corpus.code, 2);
  EXPECT_THAT(corpus.out, nearest);
}

TEST_F(Errors, TheFaultsAreListed) {
  EXPECT_THAT(run({"list", "--faults", "deconv_axis_zero"}).out, HasSubstr("no integer kernel fits"))
      << "why a verdict says not-quantized and not axis";
  const Call all = run({"list", "--faults"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("\nbias_dropped "), HasSubstr("\nconcat_first_scale "),
                             HasSubstr("Concat's output gets its first operand's range\n")));
  const nlohmann::json some = run({"list", "--faults", "bias_*", "--json"}).json()["faults"];
  ASSERT_FALSE(some.empty());
  for (const auto& fault : some) EXPECT_THAT(fault["fault"].get<std::string>(), testing::StartsWith("bias_"));
  EXPECT_THAT(said({"list", "--faults", "bias_droped"}, 5), HasSubstr("nearest: bias_dropped"));
}

TEST_F(Errors, ASuiteIsTakenFromAFile) {
  std::filesystem::create_directories(path("mine"));
  write("mine/gate.json", R"({"title": "t", "select": ["mini/stride=2"],
      "option_sets": [{"label": "symmetric", "options": {"symmetric": true}}],
      "expected_failures": [{"case": "mini/*", "converter": "embedded", "reason": "bias", "url": "https://example.org"}]})");
  for (const char* named : {"./mine/gate.json", "mine/gate.json"}) {
    const nlohmann::json verdicts = run({"run", named, "--json", "--fault", "bias_dropped"}).json()["results"];
    ASSERT_EQ(verdicts.size(), 1U);
    EXPECT_EQ(verdicts[0]["case"], "mini/stride=2");
    EXPECT_EQ(verdicts[0]["options"], "symmetric");
    EXPECT_EQ(verdicts[0]["verdict"], "xfail");
    EXPECT_EQ(run({"lint", named}).code, 0);
  }
  // What it prints selects the one case under the suite's own words.
  const Call red = run({"run", "mine/gate.json", "--fault", "zero_point_ignored"});
  EXPECT_THAT(red.out, HasSubstr("run mine/gate.json --only mini/stride=2 --options symmetric"));
  // A folder of cases may hold suites too.
  std::string family = kMiniFamily;
  family.replace(family.find("\"mini\""), 6, "\"own\"");
  write("mine/own.json", family);
  EXPECT_EQ(run({"run", "./mine", "--json"}).json()["planned"], 2);
}

TEST_F(Errors, AReadOnlyHistoryIsRead) {
  ASSERT_EQ(run({"run", "mini/stride=1", "--db", "kept/h.db"}).code, 0);
  const std::filesystem::path file = path("kept/h.db");
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  std::filesystem::permissions(path("kept"), std::filesystem::perms(0555));
  // Whoever may do anything is held to the permissions as another user.
  const auto ask = [&](Words words) {
    core::SpawnOptions options;
    if (geteuid() == 0) options.arguments = {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"};
    options.arguments.insert(options.arguments.end(), ASSAY_PROGRAM);
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.working_folder = "/";
    options.environment = {{"ASSAY_HOME", path("").string()}};
    return finished(options);
  };
  for (std::filesystem::path each = path("kept").parent_path(); each != each.root_path(); each = each.parent_path()) {
    if ((std::filesystem::status(each).permissions() & std::filesystem::perms(0001)) == std::filesystem::perms(0)) {
      std::filesystem::permissions(each, std::filesystem::perms(0755));
    }
  }
  const Call history = ask({"history", "--db", file.string()});
  EXPECT_EQ(history.code, 0) << history.err;
  EXPECT_THAT(history.out, HasSubstr("mini/stride=1"));
  const Call accept = ask({"accept", "--db", file.string(), "--reason", "x"});
  EXPECT_NE(accept.code, 0);
  EXPECT_THAT(accept.err, AllOf(HasSubstr("h.db"), HasSubstr("readonly")));
  std::filesystem::permissions(path("kept"), std::filesystem::perms(0755));
}

TEST_F(Errors, ADatabaseWhoseFolderCanNotBeMadeIsNamed) {
  write("file", "");
  const Call call = run({"run", "mini/stride=1", "--db", "file/h.db"});
  EXPECT_NE(call.code, 0);
  EXPECT_THAT(call.err, AllOf(HasSubstr("\"file/h.db\""), HasSubstr("--db names another")));
  EXPECT_THAT(said({"history", "--db", "nosuch/h.db"}), HasSubstr("there is no database \"nosuch/h.db\""));
}

TEST_F(Errors, ADoubleModelIsNoConvertersFault) {
  save("double.onnx", "agraph (double[1,3,8,8] x) => (double[1,3,8,8] y) { y = Relu (x) }");
  for (const char* verb : {"check", "bisect", "reduce", "precision"}) {
    EXPECT_THAT(said({verb, "double.onnx"}), AllOf(HasSubstr("input \"x\" is double"), HasSubstr("float32"))) << verb;
  }
}

TEST_F(Errors, MadeUpDataThatCanNotFitAreNotTheModelsFault) {
  save("open.onnx", "agraph (float[N,3,H,W] x, float[1,3,20,20] k) => (float[N,3,20,20] y) { y = Add (x, k) }");
  EXPECT_THAT(said({"check", "open.onnx"}),
              AllOf(HasSubstr("\"x\" is [N,3,H,W], [1,3,32,32] was taken"), HasSubstr("--calibration or --inputs")));
  save("free.onnx", "agraph (float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Relu (x) }");
  EXPECT_EQ(run({"check", "free.onnx"}).code, 0);
}

constexpr const char* kQuantized =
    "agraph (float[1,3,8,8] x) => (float[1,3,8,8] y) <float s = {0.05}, int8 z = {0}> {"
    " q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  y = Relu (d) }";

TEST_F(Errors, AQuantizedModelGivenAsTheFloatOneIsTold) {
  save("relu.onnx", kRelu);
  save("int8.onnx", kQuantized);
  for (const char* artifact : {"int8.onnx", "relu.onnx"}) {
    EXPECT_THAT(said({"check", "int8.onnx", "--artifact", artifact}),
                AllOf(HasSubstr("\"int8.onnx\" is quantized already (2 of its 3 nodes"), HasSubstr("check FLOAT.onnx")))
        << artifact;
  }
  EXPECT_THAT(run({"check", "int8.onnx"}).err, HasSubstr("give its float original"));
  EXPECT_THAT(run({"check", "relu.onnx", "--artifact", "int8.onnx"}).err, Not(HasSubstr("quantized already")));
}

TEST_F(Errors, AScaleOfZeroInAModelIsTheModels) {
  std::string graph = kQuantized;
  graph.replace(graph.find("0.05"), 4, "0.0");
  save("zero.onnx", graph);
  EXPECT_THAT(
      said({"check", "zero.onnx"}),
      AllOf(HasSubstr("zero.onnx"), HasSubstr("element 0 of its scale \"s\" is 0"), HasSubstr("float original")));
}

TEST_F(Errors, DataOfFloat64AreTaken) {
  save("relu.onnx", kRelu);
  core::Tensor x(core::DType::float64, {1, 3, 8, 8}, std::vector<double>(192, 0.25));
  x.reals()[0] = -1;
  std::filesystem::create_directories(path("data/0000"));
  ASSERT_TRUE(model::save_tensors({{"x", x}}, path("data/0000"), "input").ok());
  EXPECT_EQ(run({"check", "relu.onnx", "--calibration", "data"}).code, 0);
}

TEST_F(Errors, UnknownWordsInSupportsAreNamed) {
  write("converter.sh",
        "read line\necho "
        "'{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\",\"supports\":{\"activation\":[\"unit8\"],"
        "\"reports\":[\"tensor\"]}}'\nread line\n");
  const Call call = run({"run", "mini/stride=1", "--converter-cmd", "sh " + path("converter.sh").string()});
  EXPECT_THAT(call.err, AllOf(HasSubstr("converter c 1: its `supports` says \"unit8\" under \"activation\""),
                              HasSubstr("the words are: int8, uint8"), HasSubstr("\"tensor\" under \"reports\"")));
}

// Published models are as they are: ONNX Runtime says so in a warning and gives what the operators make.
TEST_F(Errors, AnOutputOfAPublishedModelIsWhatItsOperatorsMake) {
  std::filesystem::create_directories(path("cache/pkg-1.0"));
  save("cache/pkg-1.0/m.onnx", "agraph (float[1,3,4] x) => (float[1,n] y) { y = Relu (x) }");
  const auto bytes = core::read_file(path("cache/pkg-1.0/m.onnx"));
  ASSERT_TRUE(bytes.ok());
  write("cases/published.json", R"({"family": "published", "title": "an output of three axes that two are declared of",
      "model": "pypi:pkg==1.0/m.onnx", "sha256": ")" +
                                    core::sha256_hex(*bytes) + R"(",
      "inputs": {"x": {"range": [-3, 2]}}, "calibration": {"batches": 2}})");
  const Call call = run({"run", "published", "--options", "default"}, {{"ASSAY_CACHE", path("cache").string()}});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out, HasSubstr("1 planned: 1 pass")) << call.err;
}

}  // namespace
}  // namespace assay::test
