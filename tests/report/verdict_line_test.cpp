#include <gtest/gtest.h>

#include "harness/report/verdict.hpp"
#include "tests/report/made_row.hpp"

namespace assay::report {
namespace {

TEST(VerdictLine, CountsTheNodesThatRanInInt8WhereThatIsKnown) {
  results::ResultRow row = made_row("a", "pass", "");
  EXPECT_EQ(verdict_line(row).find("int8"), std::string::npos);
  row.precision = {{"y", "Conv", "int8"}, {"z", "Softmax", "fp32"}, {"r", "Relu", "int8"}};
  EXPECT_NE(verdict_line(row).find("  int8 2/3"), std::string::npos) << verdict_line(row);
}

}  // namespace
}  // namespace assay::report
