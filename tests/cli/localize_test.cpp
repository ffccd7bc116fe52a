// `assay reduce`, `bisect`, `precision`, and the table by node of `check`.
#include <gmock/gmock.h>

#include "harness/model/onnx_io.hpp"
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
  EXPECT_EQ(run({"bisect", data("concat_ranges.onnx"), "--json"}).code, 0);
  EXPECT_EQ(faulted("bisect", {"--over", "versions"}).code, 2);
}

TEST_F(Localize, BisectFindsTheBatches) {
  const Call call = faulted("bisect", {"--over", "batches", "--json"});
  EXPECT_EQ(call.code, 1) << call.err;
  EXPECT_EQ(call.json()["needed"].size(), 1U);
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
