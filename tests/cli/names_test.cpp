// Names of nodes on the command line: one that doesn't exist is an error that lists the nearest, never ignored.
#include <gmock/gmock.h>

#include "harness/core/text.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class Names : public HomeTest {
 protected:
  static std::string model() { return (test::test_data() / "trt861" / "concat_ranges.onnx").string(); }
  /// `command`'s answer under `more`; every command that takes a model.
  [[nodiscard]] Call ask(const Words& command, const Words& more) const {
    Words words = command;
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  /// Every command that converts a model of the user's.
  static std::vector<Words> on_a_model() {
    return {{"check", model()},
            {"convert", model(), "--output", "out"},
            {"bisect", model()},
            {"bisect", model(), "--over", "batches"},
            {"reduce", model()},
            {"precision", model()},
            {"bundle", model(), "bundled"}};
  }
  /// Every command that converts a case.
  static std::vector<Words> on_a_case() {
    return {{"run", "mini/stride=1"}, {"explain", "mini/stride=1"}, {"bundle", "mini/stride=1", "bundled"}};
  }
};

TEST_F(Names, WithQuotesOrLineEndsAreOneWordOfAMessage) {
  const Call call = run({"run", "naming/form=hostile,what=quotes", "naming/form=hostile,what=newline",
                         "naming/form=hostile,what=blanks", "--options", "default", "--fault", "per_axis_rolled"},
                        {{"ASSAY_HOME", source_tree().string()}});
  EXPECT_THAT(call.out, HasSubstr("3 red of 1 cause")) << call.out << call.err;
  const Call quotes =
      run({"run", "naming/form=hostile,what=quotes", "--options", "default", "--fault", "per_axis_rolled"},
          {{"ASSAY_HOME", source_tree().string()}});
  EXPECT_THAT(quotes.out, HasSubstr(R"(weight "it's \"so\" w": 11 of 11 scales differ)"));
}

TEST_F(Names, ANodeThatPrecisionNamesMustExist) {
  std::vector<Words> commands = on_a_model();
  commands.push_back({"check", model(), "--artifact", model()});
  commands.push_back({"audit", model(), "--artifact", model()});
  commands.push_back({"fuzz", "--graphs", "1"});
  for (const Words& command : commands) {
    const Call call = ask(command, {"--options", R"({"precision": {"Coonv": "fp32"}})"});
    EXPECT_EQ(call.code, 2) << core::join(command, " ") << call.out;
    EXPECT_THAT(call.err, HasSubstr("\"Coonv\"")) << core::join(command, " ");
    EXPECT_THAT(call.err, HasSubstr("\"Conv\"")) << core::join(command, " ");
  }
}

TEST_F(Names, AnOperatorThatNoNodeHasIsNoMistake) {
  for (const char* key : {"LSTM", "ConvTranspose", "*"}) {
    const std::string options = std::string(R"({"precision": {")") + key + R"(": "int8?"}})";
    EXPECT_EQ(run({"check", model(), "--options", options}).code, 0) << key;
    EXPECT_EQ(run({"run", "mini", "--options", options}).code, 0) << key;
  }
}

TEST_F(Names, ACaseUnderOptionsThatNameNoNodeOfItIsInvalid) {
  const Call call = run({"run", "mini/stride=1", "--options", R"({"precision": {"yy": "fp32"}})"});
  EXPECT_EQ(call.code, 2) << call.out;
  EXPECT_THAT(call.out, HasSubstr("invalid-case"));
  EXPECT_THAT(call.out, HasSubstr("no node \"yy\""));
  EXPECT_THAT(call.out, HasSubstr("the nearest nodes are: \"y\""));
  EXPECT_EQ(run({"run", "mini/stride=1", "--options", R"({"precision": {"y": "fp32"}})"}).code, 0);
}

TEST_F(Names, ANodeThatAFaultNamesMustExist) {
  for (const Words& command : on_a_model()) {
    const Call call = ask(command, {"--fault", "bias_dropped@nosuch"});
    EXPECT_EQ(call.code, 2) << core::join(command, " ") << call.out;
    EXPECT_THAT(call.err, HasSubstr("no node \"nosuch\"; the nearest are: ")) << core::join(command, " ");
  }
  for (const Words& command : on_a_case()) {
    const Call call = ask(command, {"--fault", "bias_dropped@yy"});
    EXPECT_EQ(call.code, 2) << core::join(command, " ") << call.out;
    EXPECT_THAT(call.err, HasSubstr("no node \"yy\"; the nearest are: \"y\"")) << core::join(command, " ");
  }
  const Call drawn = run({"fuzz", "--graphs", "1", "--fault", "bias_dropped@y"});
  EXPECT_EQ(drawn.code, 2);
  EXPECT_THAT(drawn.err, HasSubstr("leave out \"@y\""));
  const Call made = run({"new", "a_case", "--model", model(), "--fault", "bias_dropped@nosuch"});
  EXPECT_EQ(made.code, 2);
  EXPECT_THAT(made.err, HasSubstr("no node \"nosuch\""));
  EXPECT_EQ(run({"run", "mini/stride=1", "--fault", "bias_dropped@y"}).code, 1);
}

TEST_F(Names, AReductionMayLeaveANamedNodeBehind) {
  const std::string calibration = (test::test_data() / "trt861" / "concat_ranges.calibration.npz").string();
  const Call nodes = run({"check", model(), "--json"});
  std::string far;  // a node that the reduction to the Concat takes away
  const nlohmann::json told = nodes.json();
  for (const auto& node : told["nodes"]) {
    if (node["op"] == "Conv") far = node["node"];  // the last one, behind the Concat
  }
  ASSERT_FALSE(far.empty());
  const std::string options = R"({"precision": {")" + far + R"(": "int8"}})";
  const Call reduced = run({"reduce", model(), "--calibration", calibration, "--fault", "concat_range_narrow",
                            "--options", options, "--output", "small", "--json"});
  ASSERT_EQ(reduced.code, 0) << reduced.err;
  EXPECT_EQ(reduced.json()["after"]["nodes"], 1);
  EXPECT_THAT(reduced.json()["reproduce"].get<std::string>(), testing::Not(HasSubstr(far)));
}

}  // namespace
}  // namespace assay::test
