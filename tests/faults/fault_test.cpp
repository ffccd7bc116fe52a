// Every case must be seen to fail: with the fault on that it claims to catch, its verdict is red. That it is green with
// the fault off is the case's own test.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "converters/embedded/embedded.hpp"
#include "harness/core/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

/// Fault → the cases that list it among their `kills`.
const std::map<std::string, std::vector<std::string>>& claims() {
  static const std::map<std::string, std::vector<std::string>> claims = [] {
    std::map<std::string, std::vector<std::string>> by_fault;
    const nlohmann::json json =
        assay({"list", "default", "--json"}, {}, {{"ASSAY_HOME", source_tree().string()}}).json();
    if (json.is_object()) {
      for (const nlohmann::json& entry : json["cases"]) {
        for (const nlohmann::json& fault : entry["kills"]) {
          by_fault[fault.get<std::string>()].push_back(entry["case"].get<std::string>());
        }
      }
    }
    return by_fault;
  }();
  return claims;
}

class Fault : public testing::TestWithParam<std::string> {};

TEST_P(Fault, IsCaughtByEveryCaseThatClaimsIt) {
  const auto claim = claims().find(GetParam());
  ASSERT_NE(claim, claims().end()) << "no case claims to catch it";
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder.ok());
  std::vector<std::string> arguments = {"run"};
  arguments.insert(arguments.end(), claim->second.begin(), claim->second.end());
  arguments.insert(arguments.end(), {"--fault", GetParam(), "--json", "--jobs", "1"});
  const Call call = assay(arguments, folder->path(), {{"ASSAY_HOME", source_tree().string()}});
  const nlohmann::json json = call.json();
  ASSERT_TRUE(json.is_object()) << call.out << call.err;
  // A case runs under several option sets, and a zero point that is always zero can't be wrong under all of them: one
  // red verdict is the catch.
  std::map<std::string, bool> caught;
  for (const nlohmann::json& result : json["results"]) {
    caught[result["case"].get<std::string>()] |= result["gate"] == "red";
  }
  EXPECT_EQ(caught.size(), claim->second.size());
  for (const auto& [name, red] : caught) {
    EXPECT_TRUE(red) << name << " doesn't catch it";
  }
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const embedded::FaultInfo& fault : embedded::fault_table()) {
    names.emplace_back(fault.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, Fault, testing::ValuesIn(fault_names()), [](const auto& each) { return each.param; });

TEST(FaultTable, HoldsEveryFaultThatACaseClaims) {
  const std::vector<std::string> names = fault_names();
  ASSERT_FALSE(claims().empty());
  for (const auto& [fault, cases] : claims()) {
    EXPECT_NE(std::find(names.begin(), names.end(), fault), names.end())
        << fault << ", claimed by " << cases.front() << ", is no fault";
  }
}

}  // namespace
}  // namespace assay::test
