#include "harness/report/origin_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/made_case.hpp"

namespace assay::report {
namespace {

using testing::HasSubstr;

corpus::Case made(const std::string& name, const std::string& url, const std::string& fault) {
  corpus::Case each = made_case(name, {url, "Some | tool 1.2", "a defect"});
  each.kills = {fault};
  return each;
}

results::ResultRow verdict_of(const std::string& name, const std::string& what, const std::string& gate) {
  results::ResultRow row;
  row.key.case_name = name;
  row.verdict = what;
  row.gate = gate;
  return row;
}

TEST(OriginTable, NamesCasesFaultsAndWhoIsRed) {
  const std::vector<corpus::Case> cases{made("deep/form=one,k=1", "https://u/1", "axis_lost"),
                                        made("deep/form=one,k=2", "https://u/1", "bias_dropped"),
                                        made("flat", "https://u/2", "bias_dropped")};
  const ByConverter verdicts{{"tool 3",
                              {verdict_of("deep/form=one,k=1", "fail", "red"),
                               verdict_of("deep/form=one,k=2", "pass", "green"), verdict_of("flat", "pass", "green")}},
                             {"other 1", {verdict_of("deep/form=one,k=1", "xfail", "green")}}};
  const std::string table = origin_table(cases, verdicts);
  EXPECT_THAT(table, HasSubstr("| https://u/1 | Some \\| tool 1.2 | deep/form=one | axis_lost, bias_dropped | "
                               "other 1 (1/2), tool 3 (1/2) |\n"));
  EXPECT_THAT(table, HasSubstr("| https://u/2 | Some \\| tool 1.2 | flat | bias_dropped |  |\n"));
}

}  // namespace
}  // namespace assay::report
