// `assay score --artifacts`: defects in artifacts, and the command that repeats one.
#include <gmock/gmock.h>

#include <filesystem>

#include "converters/protocol/client.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class ScoreArtifacts : public HomeTest {
 protected:
  /// Runs what `command` says behind "./assay", as a shell would.
  [[nodiscard]] Call repeated(const std::string& command) const {
    core::Result<std::vector<std::string>> words = protocol::split_command(command);
    EXPECT_TRUE(words);
    EXPECT_EQ(words->front(), "./assay");
    words->erase(words->begin());
    words->emplace_back("--json");
    return run(*words);
  }
};

TEST_F(ScoreArtifacts, TriesEveryKindOfDefectOnEveryArtifact) {
  const Call call = run({"score", "--artifacts", "embedded", "--json"});
  const nlohmann::json report = call.json();
  EXPECT_EQ(report["artifacts"], 2) << call.err;
  EXPECT_EQ(report["false_alarms"], nlohmann::json::array());
  EXPECT_EQ(report["total"]["tried"], 52);
  EXPECT_GT(report["total"]["red"], 20);
  EXPECT_EQ(report["total"]["visible"], report["total"]["red"].get<int>() + report["total"]["unjudged"].get<int>() +
                                            report["total"]["passed"].get<int>() +
                                            report["total"]["failed"].get<int>());
  EXPECT_EQ(call.code, report["total"]["passed"] == 0 ? 0 : 1);
}

TEST_F(ScoreArtifacts, FalsifiesEveryNodeAndEveryOutput) {
  const Call call = run({"score", "mini/stride=1", "--artifacts", "embedded", "--falsify", "--json"});
  const nlohmann::json report = call.json();
  EXPECT_EQ(report["artifacts"], 1) << call.err;
  for (const char* group : {"Conv", "DequantizeLinear", "QuantizeLinear", "behind the converter, qdq",
                            "behind the converter, scales", "behind the converter, opaque"}) {
    EXPECT_TRUE(report["operators"]["embedded"].contains(group)) << group;
  }
  EXPECT_EQ(report["operators"]["embedded"]["Conv"]["tried"], 4);
  EXPECT_EQ(report["total"]["passed"], 0) << call.out;
  EXPECT_EQ(report["overclaimed"], 0) << call.out;
  EXPECT_EQ(call.code, 0);
}

TEST_F(ScoreArtifacts, APrintedCommandRepeatsItsMutant) {
  for (const std::vector<std::string>& mode :
       {std::vector<std::string>{"--seed", "3"}, std::vector<std::string>{"--falsify"}}) {
    for (const char* index : {"2", "9", "17"}) {
      std::vector<std::string> words{"score", "mini/stride=2", "--artifacts", "embedded", "--json", "--mutant", index};
      words.insert(words.end(), mode.begin(), mode.end());
      const nlohmann::json first = run(words).json();
      ASSERT_EQ(first["listed"].size(), 1U) << first;
      const nlohmann::json again = repeated(first["listed"][0]["repeat"]).json();
      EXPECT_EQ(first["listed"], again["listed"]);
    }
  }
}

TEST_F(ScoreArtifacts, OneMutantAloneIsTheOneAmongAll) {
  const auto fates = [&](const nlohmann::json& report) {
    nlohmann::json groups = nlohmann::json::object();
    for (const auto& [group, counts] : report["defects"]["embedded"].items()) {
      if (counts["tried"] != 0) groups[group] = counts;
    }
    return groups;
  };
  nlohmann::json sum = nlohmann::json::object();
  for (int index = 0; index < 4; ++index) {
    const nlohmann::json one = fates(
        run({"score", "mini/stride=1", "--artifacts", "embedded", "--mutant", std::to_string(index), "--json"}).json());
    for (const auto& [group, counts] : one.items()) {
      for (const auto& [name, count] : counts.items()) {
        sum[group][name] = (sum.contains(group) ? sum[group].value(name, 0) : 0) + count.get<int>();
      }
    }
  }
  EXPECT_EQ(sum, fates(run({"score", "mini/stride=1", "--artifacts", "embedded", "--mutants", "4", "--json"}).json()));
}

TEST_F(ScoreArtifacts, AKeptMutantIsAFolderThatCheckAndScoreTake) {
  const nlohmann::json report =
      run({"score", "mini/stride=1", "--artifacts", "embedded", "--mutant", "9", "--keep", "kept", "--json"}).json();
  const std::string kept = report["listed"][0]["kept"];
  const Call check = run({"check", kept + "/float.onnx", "--artifact", kept + "/q.onnx", "--calibration",
                          kept + "/calibration", "--inputs", kept + "/inputs", "--json"});
  EXPECT_EQ(check.json()["planned"], 1) << check.err;
  const Call score = run({"score", "--folder", "kept", "--mutants", "3", "--json"});
  EXPECT_EQ(score.json()["artifacts"], 1) << score.err;
}

TEST_F(ScoreArtifacts, EveryFolderCountsAndWhatCannotBeReadIsLeftOut) {
  const nlohmann::json report =
      run({"score", "mini/stride=1", "--artifacts", "embedded", "--mutant", "9", "--keep", "kept", "--json"}).json();
  const std::filesystem::path kept = path(report["listed"][0]["kept"]);
  for (const char* name : {"one", "two", "broken"}) {
    std::filesystem::copy(kept, path(name), std::filesystem::copy_options::recursive);
  }
  std::filesystem::resize_file(path("broken/q.onnx"), 10);
  const nlohmann::json scored = run({"score", "--folder", "one", "broken", "two", "--mutants", "1", "--json"}).json();
  EXPECT_EQ(scored["artifacts"], 2);
  ASSERT_EQ(scored["left_out"].size(), 1U);
  EXPECT_EQ(scored["left_out"][0]["case"], "broken");
}

TEST_F(ScoreArtifacts, OptionsOfTheOtherMeasurementAreErrors) {
  const Call falsify = run({"score", "--falsify"});
  EXPECT_EQ(falsify.code, 2);
  EXPECT_THAT(falsify.err, HasSubstr("--artifacts"));
  const Call fault = run({"score", "--artifacts", "embedded", "--fault", "bias_dropped"});
  EXPECT_EQ(fault.code, 2);
  EXPECT_THAT(fault.err, HasSubstr("--fault"));
  const Call folder = run({"score", "--folder", "cases"});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, HasSubstr("q.onnx"));
  EXPECT_EQ(run({"score", "--artifacts", "nobody"}).code, 2);
}

}  // namespace
}  // namespace assay::test
