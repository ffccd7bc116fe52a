#include "harness/report/operators_page.hpp"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <regex>

#include "converters/embedded/support.hpp"
#include "harness/core/files.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::report {
namespace {

TEST(OperatorsPage, NamesEveryOperatorOfOnnx) {
  const std::string page = operators_page(*conformance::operator_table(&embedded::int8_form));
  const std::string missing = page.substr(page.find("| they |"), page.find("| operator |") - page.find("| they |"));
  const std::string there = page.substr(page.find("| operator |"));
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty() || schema.deprecated()) continue;
    const bool has = there.find("| " + schema.Name() + " |") != std::string::npos;
    const bool lacks = std::regex_search(missing, std::regex("[ ,|]" + schema.Name() + "[,]? "));
    EXPECT_NE(has, lacks) << schema.Name();
  }
}

TEST(OperatorsPage, IsTheDocument) {
  const auto table = conformance::operator_table(&embedded::int8_form);
  ASSERT_TRUE(table) << table.error().message;
  constexpr std::size_t kNodeTests = 932;  // of ONNX 1.12, which the page counts
  if (table->stored.all != kNodeTests)
    GTEST_SKIP() << "the page counts the " << kNodeTests << " node tests of Debian 12's libonnx-testdata (ONNX 1.12); "
                 << table->stored.all << " are installed";
  const auto document = core::read_file(test::source_tree() / "docs" / "operators.md");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(*document, operators_page(*table)) << "write it anew: ./assay doctor --operators > docs/operators.md";
}

}  // namespace
}  // namespace assay::report
