#include "tests/reference/backend_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace assay::reference {
namespace {

class BackendData : public testing::TestWithParam<std::string> {};

/// Forms that the reference answers with "unsupported" by decision, by the beginning of the case's name. A case that
/// is refused and not listed here fails.
const std::map<std::string, std::string> kRefusedForms{
    {"test_batchnorm_epsilon_training_mode", "training"},
    {"test_batchnorm_example_training_mode", "training"},
    {"test_training_dropout", "random numbers"},
};

bool is_refused_by_decision(const std::string& name) {
  for (const auto& [prefix, reason] : kRefusedForms) {
    if (name.rfind(prefix, 0) == 0) {
      return true;
    }
  }
  return false;
}

TEST_P(BackendData, EveryCoveredCaseGivesTheStoredOutputs) {
  const std::vector<BackendCase> cases = backend_cases(GetParam());
  if (cases.empty()) {
    GTEST_SKIP() << "no test data in " << backend_data_root() << "; install libonnx-testdata";
  }
  std::map<BackendOutcome, std::size_t> counts;
  std::map<std::string, std::size_t> reasons;
  for (const BackendCase& backend_case : cases) {
    const BackendResult result = run_backend_case(backend_case);
    ++counts[result.outcome];
    if (result.outcome == BackendOutcome::not_covered) {
      ++reasons[result.detail.substr(0, result.detail.find(':'))];
    } else if (result.outcome == BackendOutcome::failed ||
               (result.outcome == BackendOutcome::refused && !is_refused_by_decision(backend_case.name))) {
      ADD_FAILURE() << backend_case.name << ": " << result.detail;
    }
  }
  const std::size_t passed = counts[BackendOutcome::passed];
  const std::size_t covered = passed + counts[BackendOutcome::failed] + counts[BackendOutcome::refused];
  std::cout << fmt::format("{}: {} cases, {} covered, {} passed, {} refused by decision, {} not covered\n", GetParam(),
                           cases.size(), covered, passed, counts[BackendOutcome::refused],
                           counts[BackendOutcome::not_covered]);
  for (const auto& [reason, count] : reasons) {
    std::cout << fmt::format("  not covered, {}: {}\n", reason, count);
  }
  EXPECT_GT(passed, 0U) << "the sweep ran nothing";
}

INSTANTIATE_TEST_SUITE_P(Groups, BackendData,
                         testing::Values("node", "pytorch-converted", "pytorch-operator", "simple"),
                         [](const auto& group) {
                           std::string name = group.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace assay::reference
