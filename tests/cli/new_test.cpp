// `assay new`.
#include <gmock/gmock.h>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class New : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    // The corpus's own case as a model file, with its wrong and its right artifact.
    ASSERT_EQ(run({"bundle", "mini/stride=1", "right"}).code, 0);
    ASSERT_EQ(run({"bundle", "mini/stride=1", "wrong", "--fault", "bias_dropped"}).code, 0);
    std::filesystem::copy(path("right/model.onnx"), path("net.onnx"));
  }
  [[nodiscard]] nlohmann::json written(const std::string& name) const {
    const auto text = core::read_file(path(name));
    return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  }
};

TEST_F(New, RegistersACaseThatIsRedWithTheFaultAndGreenWithout) {
  const Call call = run({"new", "https://example.org/issues/7", "--model", "net.onnx", "--name", "lost_bias",
                         "--defect", "the bias is lost", "--reported-against", "X 1.2", "--fault", "bias_dropped"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("with the defect, embedded@"));
  EXPECT_THAT(call.out, HasSubstr("registered: "));
  const nlohmann::json json = written("cases/lost_bias.json");
  EXPECT_EQ(json["kills"], nlohmann::json({"bias_dropped"}));
  EXPECT_EQ(json["origin"][0]["reported_against"], "X 1.2");
  EXPECT_EQ(run({"run", "lost_bias"}).code, 0);
  EXPECT_EQ(run({"run", "lost_bias", "--fault", "bias_dropped"}).code, 1);
}

TEST_F(New, TakesTheDataThatReduceLeftBesideTheModelAndSaysWhatTheFaultDoes) {
  ASSERT_EQ(run({"reduce", "net.onnx", "--fault", "bias_dropped", "--output", "small"}).code, 0);
  const Call call = run({"new", "shrunk", "--model", "small/model.onnx", "--fault", "bias_dropped", "--into", "mine"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.err, HasSubstr("data: \"small/calibration\" and \"small/inputs\", which lie beside the model"));
  const nlohmann::json json = written("mine/shrunk.json");
  EXPECT_TRUE(json.contains("stored_data")) << json.dump();
  EXPECT_THAT(json["title"].get<std::string>(), testing::Not(HasSubstr("a defect of")));
}

TEST_F(New, RefusesACaseThatDoesNotSeeTheDefect) {
  const Call call = run({"new", "blind", "--model", "net.onnx", "--fault", "deconv_axis_zero"});
  EXPECT_EQ(call.code, 1);
  EXPECT_THAT(call.out, HasSubstr("not registered: it is not red with the defect"));
  EXPECT_THAT(call.out, HasSubstr("--calibration"));
  EXPECT_FALSE(std::filesystem::exists(path("cases/blind.json")));
}

TEST_F(New, KeepsAWrongArtifactBesideTheCase) {
  const Call call =
      run({"new", "stored", "--model", "net.onnx", "--wrong-artifact", "wrong/artifact/model.onnx", "--into", "mine"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(std::filesystem::exists(path("mine/stored.wrong.onnx")));
  const Call right = run({"new", "no_defect", "--model", "net.onnx", "--wrong-artifact", "right/artifact/model.onnx"});
  EXPECT_EQ(right.code, 2);
  EXPECT_THAT(right.err, HasSubstr("shows no defect"));
  EXPECT_FALSE(std::filesystem::exists(path("cases/no_defect.json")));
}

TEST_F(New, JudgesAWrongArtifactUnderTheOptionsThatItShows) {
  const std::string per_tensor = R"({"per_axis":false})";
  ASSERT_EQ(run({"bundle", "mini/stride=1", "right_tensor", "--options", per_tensor}).code, 0);
  ASSERT_EQ(run({"bundle", "mini/stride=1", "wrong_tensor", "--options", per_tensor, "--fault", "bias_dropped"}).code,
            0);
  const std::vector<std::string> right{"new",      "nothing_wrong",    "--model",
                                       "net.onnx", "--wrong-artifact", "right_tensor/artifact/model.onnx"};
  const Call refused = run(right);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err, testing::ContainsRegex(R"(Under the options .*"per_axis":false.* the verdict is unjudged)"));
  std::vector<std::string> stated = right;
  stated.insert(stated.end(), {"--options", R"({"per_axis":true})"});
  const Call by_options = run(stated);
  EXPECT_EQ(by_options.code, 2) << by_options.out;
  EXPECT_THAT(by_options.err, HasSubstr("nothing but --options"));
  EXPECT_FALSE(std::filesystem::exists(path("cases/nothing_wrong.json")));

  const Call call = run({"new", "lost", "--model", "net.onnx", "--wrong-artifact", "wrong_tensor/artifact/model.onnx"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("artifact/bias"));
  const nlohmann::json json = written("cases/lost.json");
  // All that it shows, so that no option set of a run asks for something else.
  EXPECT_EQ(json["options"],
            nlohmann::json::parse(R"({"activation":"int8","weight":"int8","symmetric":false,"per_axis":false})"));
  EXPECT_FALSE(json.contains("expect")) << json.dump();
}

/// Ranges that one method explains and another doesn't: what the user knows of them is stated, and kept.
TEST_F(New, KeepsAnArtifactThatIsWrongByAStatedMethodOrMaker) {
  const std::filesystem::path adapters = "converters/adapters";
  for (const char* maker : {"onnxruntime", "aimet"}) {  // who states policies; aimet's may search for a range
    std::filesystem::create_directories(path((adapters / maker).string()));
    for (const char* file : {"adapter.json", "policies.json"})
      std::filesystem::copy(source_tree() / adapters / maker / file, path((adapters / maker / file).string()));
  }
  ASSERT_EQ(run({"bundle", "mini/stride=1", "narrow", "--options", R"({"method":"mse"})"}).code, 0);
  const std::vector<std::string> narrow{"new",
                                        "narrow",
                                        "--model",
                                        "net.onnx",
                                        "--wrong-artifact",
                                        "narrow/artifact/model.onnx",
                                        "--calibration",
                                        "right/calibration",
                                        "--into",
                                        "mine"};
  const Call refused = run(narrow);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("or --options '{\"method\":\"minmax\"}'"));
  const auto with = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = narrow;
    words[1] = name;
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Call by_method = with("by_method", {"--options", R"({"method":"minmax"})"});
  ASSERT_EQ(by_method.code, 0) << by_method.out << by_method.err;
  EXPECT_EQ(written("mine/by_method.json")["options"]["method"], "minmax");
  const Call by_maker = with("by_maker", {"--made-by", "onnxruntime", "--options", R"({"method":"minmax"})"});
  ASSERT_EQ(by_maker.code, 0) << by_maker.out << by_maker.err;
  EXPECT_EQ(written("mine/by_maker.json")["made_by"], "onnxruntime");
  for (const std::string name : {"by_method", "by_maker"}) {
    const std::string file = "mine/" + name + ".json";
    EXPECT_EQ(run({"run", file, "--artifact", "mine/" + name + ".wrong.onnx"}).code, 1) << name;
    EXPECT_EQ(run({"run", file}).code, 0) << name;
    EXPECT_EQ(run({"lint", file}).code, 0) << name;
  }
  EXPECT_EQ(with("nobody", {"--made-by", "nobody"}).code, 2);
}

TEST_F(New, AnArtifactIsJudgedAsTheCasesConversion) {
  const Call made = run({"new", "stored", "--model", "net.onnx", "--wrong-artifact", "wrong/artifact/model.onnx",
                         "--calibration", "right/calibration", "--into", "mine"});
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  // The command that it prints repeats the verdict.
  EXPECT_THAT(made.out, HasSubstr("red:   "));
  EXPECT_THAT(made.out, HasSubstr("assay run mine/stored.json --artifact mine/stored.wrong.onnx\n"));
  EXPECT_THAT(made.out, HasSubstr("yours: ")) << "what tests a build of one's own";
  EXPECT_THAT(made.out, HasSubstr("assay run mine/stored.json --artifact YOUR.onnx  #"));
  EXPECT_THAT(made.out, HasSubstr("assay run mine/stored.json --options default\n"));
  const std::vector<std::string> command{"run", "mine/stored.json", "--artifact"};
  const auto judged = [&](const std::string& artifact, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = command;
    words.push_back(artifact);
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Call red = judged("mine/stored.wrong.onnx");
  EXPECT_EQ(red.code, 1) << red.out << red.err;
  EXPECT_THAT(red.out, HasSubstr("artifact mine/stored.wrong.onnx: 1 case (mine/stored.json); data stored with"));
  EXPECT_THAT(red.out, HasSubstr("(artifact/bias)"));
  EXPECT_THAT(red.out, HasSubstr("assay run mine/stored.json stored --artifact mine/stored.wrong.onnx\n"));
  EXPECT_THAT(red.out, HasSubstr("1 planned: 1 fail"));
  const Call green = judged("right/artifact/model.onnx", {"--json"});
  EXPECT_EQ(green.code, 0) << green.out << green.err;
  EXPECT_EQ(green.json()["results"][0]["verdict"], "pass");
  // One artifact is one case's, and no converter takes part.
  EXPECT_THAT(run({"run", "mini", "--artifact", "mine/stored.wrong.onnx"}).err, HasSubstr("2 cases are selected"));
  EXPECT_EQ(judged("mine/stored.wrong.onnx", {"--converter", "embedded"}).code, 2);
  EXPECT_THAT(judged("absent.onnx").err, HasSubstr("artifact \"absent.onnx\" is not a readable file"));
  // Made under other options than the case requires: what it should be doesn't hold.
  ASSERT_EQ(run({"bundle", "mini/stride=1", "tensor", "--options", R"({"per_axis":false})"}).code, 0);
  EXPECT_EQ(judged("tensor/artifact/model.onnx").code, 1);
}

TEST_F(New, AFaultAtANodeIsClaimedWithoutIt) {
  const Call call = run({"new", "at", "--model", "net.onnx", "--fault", "bias_dropped@y"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(written("cases/at.json")["kills"], nlohmann::json({"bias_dropped"}));
  EXPECT_THAT(call.out, HasSubstr("assay run at --fault bias_dropped@y --options default\n"));
  EXPECT_EQ(run({"lint", "default"}).code, 0);
}

TEST_F(New, LintJudgesTheKeptArtifactAgain) {
  ASSERT_EQ(
      run({"new", "stored", "--model", "net.onnx", "--wrong-artifact", "wrong/artifact/model.onnx", "--into", "mine"})
          .code,
      0);
  const Call good = run({"lint", "mine/stored.json"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("1 case read, 1 wrong artifact judged again: 0 findings"));
  std::filesystem::copy(path("right/artifact/model.onnx"), path("mine/stored.wrong.onnx"),
                        std::filesystem::copy_options::overwrite_existing);
  const Call bad = run({"lint", "./mine"});
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_THAT(bad.out, HasSubstr("is kept as wrong, and its verdict is"));
  write("mine/broken.json", R"({"family": "broken"})");
  EXPECT_EQ(run({"lint", "mine/broken.json"}).code, 2);
}

TEST_F(New, SaysHowToRunACaseInAFolderOfTheUsers) {
  const Call call = run({"new", "elsewhere", "--model", "net.onnx", "--fault", "bias_dropped", "--into", "mine"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("run mine/elsewhere.json --options default\n"));
  EXPECT_EQ(run({"run", "mine/elsewhere.json"}).code, 0);
}

TEST_F(New, KeepsTheUsersDataAndALargeModelAsFiles) {
  const Call call = run({"new", "fed", "--model", "net.onnx", "--fault", "bias_dropped", "--calibration",
                         "right/calibration", "--inputs", "right/inputs/typical"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(std::filesystem::exists(path("cases/fed/calibration/0007/input_0.pb")));
  EXPECT_TRUE(std::filesystem::exists(path("cases/fed/test_data_set_0/input_0.pb")));
  EXPECT_EQ(written("cases/fed.json")["stored_data"], "fed");
  const Call again = run({"run", "fed"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
}

TEST_F(New, SaysWhatIsMissing) {
  EXPECT_THAT(run({"new"}).err, HasSubstr("needs WHAT: URL of the report"));
  EXPECT_THAT(run({"new", "x"}).err, HasSubstr("needs --model: Float ONNX model"));
  EXPECT_EQ(run({"new", "x", "--model", "net.onnx"}).code, 2);
  EXPECT_EQ(run({"new", "x", "--model", "absent.onnx", "--fault", "bias_dropped"}).code, 2);
  EXPECT_EQ(run({"new", "a/b", "--model", "net.onnx", "--fault", "bias_dropped"}).code, 2);
  const Call taken = run({"new", "mini", "--model", "net.onnx", "--fault", "bias_dropped"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("there is a case \"mini\" already"));
}

}  // namespace
}  // namespace assay::test
