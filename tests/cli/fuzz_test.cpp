// `assay fuzz` on the embedded converter, as it is and with a fault.
#include <gmock/gmock.h>

#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Fuzz = HomeTest;

TEST_F(Fuzz, FindsNothingOnTheEmbeddedConverter) {
  const Call call = run({"fuzz", "--graphs", "150", "--jobs", "2"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("nothing found"));
}

TEST_F(Fuzz, FindsAFaultAndReducesIt) {
  const Call call =
      run({"fuzz", "--fault", "bias_dropped", "--graphs", "60", "--stop-after", "1", "--jobs", "1", "--json"});
  ASSERT_EQ(call.code, 1) << call.out << call.err;
  const nlohmann::json find = call.json()["finds"][0];
  EXPECT_LE(find["after"]["nodes"], find["before"]["nodes"]);
  EXPECT_TRUE(std::filesystem::exists(path(find["folder"].get<std::string>()) / "find.json"));
  EXPECT_FALSE(std::filesystem::exists(path("fuzz/unreduced")));
  EXPECT_THAT(find["reproduce"].get<std::string>(), StartsWith("./assay check fuzz/1-"));
  EXPECT_THAT(find["reproduce"].get<std::string>(), HasSubstr("--fault bias_dropped"));
  const std::string folder = find["folder"];
  std::vector<std::string> check{"check",    folder + "/model.onnx", "--calibration", folder + "/calibration",
                                 "--inputs", folder + "/inputs",     "--options",     find["options"].dump()};
  EXPECT_EQ(run(check).code, 0) << "red without the fault";
  check.insert(check.end(), {"--fault", "bias_dropped"});
  EXPECT_EQ(run(check).code, 1);
}

TEST_F(Fuzz, KeepsWhatItHasFoundWhenItIsEnded) {
  core::SpawnOptions ended;
  ended.arguments = {"timeout", "--preserve-status", "--signal=TERM", "4",  ASSAY_PROGRAM, "fuzz",
                     "--fault", "bias_dropped",      "--minutes",     "60", "--jobs",      "1",
                     "--json"};
  ended.working_folder = path("").string();
  ended.environment = {{"ASSAY_HOME", path("").string()}};
  const Call call = finished(ended);
  ASSERT_EQ(call.code, 1) << call.out << call.err;
  const nlohmann::json find = call.json()["finds"][0];
  EXPECT_EQ(find["before"], find["after"]) << "reduced after the end";
  EXPECT_TRUE(std::filesystem::exists(path(find["folder"].get<std::string>()) / "find.json"));
}

TEST_F(Fuzz, LeavesWhatItHasFoundWhenItIsKilled) {
  core::SpawnOptions killed;
  killed.arguments = {"timeout",      "--signal=KILL", "4",  ASSAY_PROGRAM, "fuzz", "--fault",
                      "bias_dropped", "--minutes",     "60", "--jobs",      "1"};
  killed.working_folder = path("").string();
  killed.environment = {{"ASSAY_HOME", path("").string()}};
  (void)finished(killed);
  std::size_t finds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("fuzz/unreduced")))
    finds += std::filesystem::exists(entry.path() / "find.json") ? 1U : 0U;
  EXPECT_GE(finds, 1U);
}

TEST_F(Fuzz, GivesTheSameTableTwice) {
  const auto table = [&] {
    nlohmann::json json =
        run({"fuzz", "--fault", "scale_doubled", "--graphs", "4", "--reduce-seconds", "0", "--json"}).json();
    for (nlohmann::json& find : json["finds"]) find.erase("seconds");
    return std::pair(json["verdicts"], json["finds"]);
  };
  EXPECT_EQ(table(), table());
}

TEST_F(Fuzz, GraphsThatTheConverterDoesNotTakeAreCountedByReason) {
  write("takes_none.sh", "'" + std::string(ASSAY_PROGRAM) +
                             R"(' worker | sed -u '1s/"models":\[[^]]*\],//; 1s/"supports":{/&"models":["qdq"],/')");
  const std::vector<std::string> words{"fuzz", "--graphs", "5", "--converter-cmd",
                                       "sh " + path("takes_none.sh").string()};
  const Call text = run(words);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("       5 unsupported: a model that isn't quantized already\n"));
  std::vector<std::string> json = words;
  json.emplace_back("--json");
  EXPECT_EQ(run(json).json()["unsupported"], (nlohmann::json{{"a model that isn't quantized already", 5}}));
}

TEST_F(Fuzz, RefusesWhatItCanNotDo) {
  EXPECT_EQ(run({"fuzz", "--graphs", "1", "--minutes", "1"}).code, 2);
  EXPECT_EQ(run({"fuzz", "--graphs", "1", "--options", "{\"activatoin\":1}"}).code, 2);
  EXPECT_EQ(run({"fuzz", "--graphs", "1", "--converter", "embeded"}).code, 2);
}

}  // namespace
}  // namespace assay::test
