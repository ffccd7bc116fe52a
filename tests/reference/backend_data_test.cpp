#include "harness/conformance/backend_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <numbers>

namespace assay::conformance {
namespace {

class BackendDataGroup : public testing::TestWithParam<std::string> {};

/// Forms that the reference answers with "unsupported" by decision, by the beginning of the case's name. A case that
/// is refused and not listed here fails.
const std::map<std::string, std::string> kRefusedForms{
    {"test_batchnorm_epsilon_training_mode", "training"},
    {"test_batchnorm_example_training_mode", "training"},
    {"test_training_dropout", "random numbers"},
};

/// x = 0.5 over the float32 scale 5/255 is 25.4999992, which float32 can't tell from the tie 25.5: the stored code
/// comes from a division in float32, ours from the exact quotient. Nothing else may differ.
const std::string kTieOfFloat32 = "output \"y\": element 5: expected 179, actual 178 (1 of 6 differ)";

bool differs_by_tie_of_float32(const std::string& name, const BackendResult& result) {
  return name.starts_with("test_dynamicquantizelinear") && result.detail == kTieOfFloat32;
}

TEST(BackendData, TheDynamicQuantizationTieIsWithinOneRoundingOfFloat32) {
  const auto scale = static_cast<double>(5.0F / 255.0F);
  EXPECT_LT(0.5 / scale, 25.5);
  EXPECT_LE(25.5 - 0.5 / scale, 25.5 * 0x1p-24);
  EXPECT_EQ(0.5F / (5.0F / 255.0F), 25.5F);
}

/// Windows whose stored expectation was computed with 3.1415 for pi, while the model itself holds pi in float32: off by
/// up to 6e-5, far beyond any rounding.
bool has_wrong_expectation(const std::string& name) {
  return name.ends_with("window_expanded") || name.ends_with("window_symmetric_expanded");
}

TEST(BackendData, TheStoredWindowsTakeThirtyOneFourHundredFifteenForPi) {
  const double stored = 0.09548607468605042;  // element 1 of test_hannwindow_expanded: sin^2(pi / 10)
  EXPECT_NEAR(std::pow(std::sin(3.1415 / 10.0), 2), stored, 0x1p-24);
  EXPECT_GT(std::abs(std::pow(std::sin(std::numbers::pi / 10.0), 2) - stored), 5e-6);
}

bool is_refused_by_decision(const std::string& name) {
  for (const auto& [prefix, reason] : kRefusedForms) {
    if (name.rfind(prefix, 0) == 0) {
      return true;
    }
  }
  return false;
}

TEST_P(BackendDataGroup, EveryCoveredCaseGivesTheStoredOutputs) {
  const std::vector<BackendCase> cases = backend_cases(GetParam());
  if (cases.empty()) {
    GTEST_SKIP() << "no test data in " << backend_data_root() << "; install libonnx-testdata";
  }
  std::map<BackendOutcome, std::size_t> counts;
  std::size_t ties = 0;
  std::size_t wrong_expectations = 0;
  std::map<std::string, std::size_t> reasons;
  for (const BackendCase& backend_case : cases) {
    const BackendResult result = run_backend_case(backend_case);
    if (result.outcome == BackendOutcome::failed && differs_by_tie_of_float32(backend_case.name, result)) {
      ++ties;
      continue;
    }
    if (result.outcome == BackendOutcome::failed && has_wrong_expectation(backend_case.name)) {
      ++wrong_expectations;
      continue;
    }
    ++counts[result.outcome];
    if (result.outcome == BackendOutcome::not_covered) {
      ++reasons[result.detail];
    } else if (result.outcome == BackendOutcome::failed ||
               (result.outcome == BackendOutcome::refused && !is_refused_by_decision(backend_case.name))) {
      ADD_FAILURE() << backend_case.name << ": " << result.detail;
    }
  }
  const std::size_t passed = counts[BackendOutcome::passed];
  const std::size_t covered =
      passed + ties + wrong_expectations + counts[BackendOutcome::failed] + counts[BackendOutcome::refused];
  std::cout << fmt::format(
      "{}: {} cases, {} covered, {} passed, {} off by a tie of float32, {} with a wrong expectation, {} refused by "
      "decision, {} not "
      "covered\n",
      GetParam(), cases.size(), covered, passed, ties, wrong_expectations, counts[BackendOutcome::refused],
      counts[BackendOutcome::not_covered]);
  for (const auto& [reason, count] : reasons) {
    std::cout << fmt::format("  not covered, {}: {}\n", reason, count);
  }
  EXPECT_GT(passed, 0U) << "the sweep ran nothing";
}

INSTANTIATE_TEST_SUITE_P(Groups, BackendDataGroup,
                         testing::Values("node", "pytorch-converted", "pytorch-operator", "simple"),
                         [](const auto& group) {
                           std::string name = group.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace assay::conformance
