#include "reference/op.hpp"

#include <gtest/gtest.h>

#include "harness/conformance/conform.hpp"
#include "harness/corpus/case.hpp"
#include "harness/model/survey.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::reference {
namespace {

std::set<std::string> test_suites() {
  std::set<std::string> names;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    names.insert(tests.GetTestSuite(i)->name());
  }
  return names;
}

/// Operators of ONNX's own cases that pass.
std::set<std::string> operators_of_node_cases() {
  std::set<std::string> names;
  const auto cases = corpus::load_family(test::source_tree() / "cases" / "onnx_node.json");
  EXPECT_TRUE(cases) << cases.error().message;
  for (const corpus::Case& each : *cases) {
    const std::filesystem::path folder = each.stored_case.value_or("");
    if (folder.empty() || !each.name.starts_with("onnx_node/group=node,") ||
        conformance::conform(folder).judgement.verdict != judge::Verdict::pass) {
      continue;
    }
    const auto survey = model::survey_model(folder / "model.onnx");
    for (const auto& [domain, op] : survey->operators) {
      names.insert(op);
    }
  }
  return names;
}

TEST(AllOperators, EachHasATestSuiteOfItsNameOrAnOnnxNodeCase) {
  std::set<std::string> tested = test_suites();
  tested.merge(operators_of_node_cases());
  for (const OpDef* op : all_operators()) {
    EXPECT_TRUE(tested.contains(std::string(op->name))) << op->name << " has neither a test suite nor a node case";
  }
}

TEST(AllOperators, AreCompleteSortedAndUnique) {
  const std::span<const OpDef* const> operators = all_operators();
  ASSERT_GT(operators.size(), 30U);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OpDef& op = *operators[i];
    EXPECT_NE(op.run, nullptr) << op.name;
    EXPECT_LE(op.min_inputs, op.max_inputs) << op.name;
    EXPECT_LE(op.first_opset, op.last_opset) << op.name;
    EXPECT_EQ(find_operator(op.domain, op.name), &op);
    if (i > 0) {
      EXPECT_LT(std::pair(operators[i - 1]->domain, operators[i - 1]->name), std::pair(op.domain, op.name));
    }
  }
}

TEST(FindOperator, KnowsNamesOfItsDomainOnly) {
  EXPECT_NE(find_operator("", "Conv"), nullptr);
  EXPECT_EQ(find_operator("my.own", "Conv"), nullptr);
  EXPECT_EQ(find_operator("", "conv"), nullptr);
  EXPECT_EQ(find_operator("", ""), nullptr);
}

}  // namespace
}  // namespace assay::reference
