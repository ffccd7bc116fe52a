#include <gtest/gtest.h>

#include <set>
#include <string>

#include "converters/embedded/embedded.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::corpus {
namespace {

std::set<std::string> fault_names() {
  std::set<std::string> names;
  for (const auto& fault : embedded::fault_table()) names.emplace(fault.name);
  return names;
}

TEST(Claims, NameOnlyFaultsThatExist) {
  const auto cases = load_corpus();
  ASSERT_TRUE(cases) << cases.error().message;
  const std::set<std::string> faults = fault_names();
  for (const Case& c : *cases) {
    EXPECT_FALSE(c.kills.empty()) << c.name << " kills nothing, so it has no reason to exist";
    for (const std::string& fault : c.kills) EXPECT_TRUE(faults.contains(fault)) << c.name << ": " << fault;
  }
}

TEST(Claims, CoverEveryFault) {
  const auto cases = load_corpus();
  ASSERT_TRUE(cases) << cases.error().message;
  std::set<std::string> open = fault_names();
  ASSERT_FALSE(open.empty());
  for (const Case& c : *cases) {
    for (const std::string& fault : c.kills) open.erase(fault);
  }
  EXPECT_TRUE(open.empty()) << *open.begin() << " is claimed by no case";
}

}  // namespace
}  // namespace assay::corpus
