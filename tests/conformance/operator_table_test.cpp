#include "harness/conformance/operator_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::conformance {
namespace {

const OperatorRow* find_row(const OperatorTable& table, const std::string& name) {
  const auto row = std::ranges::find(table.rows, name, &OperatorRow::name);
  return row == table.rows.end() ? nullptr : &*row;
}

TEST(OperatorTable, TellsRealsAndCodesByTheRules) {
  const auto table = operator_table([](std::string_view op) { return op == "Conv" ? "multiplies" : ""; });
  ASSERT_TRUE(table) << table.error().message;
  using Types = std::vector<std::string>;
  const Types all{"int8", "uint8", "int16", "uint16"};
  EXPECT_TRUE(find_row(*table, "Conv")->takes_reals);
  EXPECT_EQ(find_row(*table, "Conv")->code_types, Types());
  EXPECT_EQ(find_row(*table, "Conv")->int8_form, "multiplies");
  EXPECT_EQ(find_row(*table, "QLinearConv")->int8_form, "");
  EXPECT_FALSE(find_row(*table, "QLinearConv")->takes_reals);
  EXPECT_EQ(find_row(*table, "MatMulInteger")->code_types, (Types{"int8", "uint8"}));
  EXPECT_TRUE(std::ranges::includes(find_row(*table, "QuantizeLinear")->code_types, all));
  EXPECT_EQ(find_row(*table, "BitShift")->code_types, all);
  EXPECT_EQ(find_row(*table, "DynamicQuantizeLinear")->code_types, Types());
  EXPECT_EQ(find_row(*table, "Where")->code_types, find_row(*table, "Concat")->code_types);
}

}  // namespace
}  // namespace assay::conformance
