#include "harness/run/operator_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "harness/core/files.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::run {
namespace {

/// `markdown` without the last column and the line that explains it.
std::string without_newest(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("- **newest**")) continue;
    if (line.starts_with("|") && line.size() > 2) line.resize(line.rfind('|', line.size() - 2));
    result += line + "\n";
  }
  return result;
}

const OperatorRow* find_row(const OperatorTable& table, const std::string& name) {
  const auto row = std::ranges::find(table.rows, name, &OperatorRow::name);
  return row == table.rows.end() ? nullptr : &*row;
}

TEST(OperatorTable, TellsRealsAndCodesByTheRules) {
  const auto table = operator_table();
  ASSERT_TRUE(table) << table.error().message;
  using Types = std::vector<std::string>;
  const Types all{"int8", "uint8", "int16", "uint16"};
  EXPECT_TRUE(find_row(*table, "Conv")->takes_reals);
  EXPECT_EQ(find_row(*table, "Conv")->code_types, Types());
  EXPECT_EQ(find_row(*table, "Conv")->int8_form, "multiplies");
  EXPECT_FALSE(find_row(*table, "QLinearConv")->takes_reals);
  EXPECT_EQ(find_row(*table, "MatMulInteger")->code_types, (Types{"int8", "uint8"}));
  EXPECT_TRUE(std::ranges::includes(find_row(*table, "QuantizeLinear")->code_types, all));
  EXPECT_EQ(find_row(*table, "BitShift")->code_types, all);
  EXPECT_EQ(find_row(*table, "DynamicQuantizeLinear")->code_types, Types());
  EXPECT_EQ(find_row(*table, "Where")->code_types, find_row(*table, "Concat")->code_types);
}

TEST(OperatorTable, TheDocumentIsUpToDate) {
  const auto table = operator_table();
  ASSERT_TRUE(table) << table.error().message;
  if (table->stored.all == 0) GTEST_SKIP() << "ONNX's test data are not installed: install libonnx-testdata";
  const auto document = core::read_file(test::source_tree() / "docs" / "operators.md");
  ASSERT_TRUE(document) << document.error().message;
  const std::string made = operators_markdown(*table);
  const bool has_newest = table->newest.all > 0;
  EXPECT_EQ(has_newest ? *document : without_newest(*document), has_newest ? made : without_newest(made))
      << "write it anew: ./assay doctor --operators > docs/operators.md";
}

}  // namespace
}  // namespace assay::run
