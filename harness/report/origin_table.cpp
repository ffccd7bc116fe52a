#include "harness/report/origin_table.hpp"

#include <fmt/format.h>

#include <set>

#include "harness/core/text.hpp"
#include "harness/report/markdown.hpp"
#include "harness/run/exit_code.hpp"

namespace assay::report {
namespace {

struct Report {
  std::string against;
  std::set<std::string> families, faults;
  std::set<std::string> cases;
};

bool has_defect(const results::ResultRow& row) {
  return run::gate_of(row) == judge::Gate::red || row.verdict == "xfail" || row.verdict == "not-quantized";
}

/// "family/form" of a case, or its family.
std::string form_of(const corpus::Case& test_case) {
  const std::string form = test_case.name.substr(0, test_case.name.find(','));
  return form.find("/form=") == std::string::npos ? test_case.family : form;
}

std::string listed_names(const std::set<std::string>& names) {
  return core::join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

}  // namespace

std::string origin_table(std::span<const corpus::Case> cases, const ByConverter& verdicts) {
  std::map<std::string, Report> reports;
  for (const corpus::Case& each : cases) {
    for (const corpus::Origin& origin : each.origins) {
      Report& report = reports[origin.url];
      if (report.against.empty()) report.against = origin.reported_against;
      report.families.insert(form_of(each));
      report.faults.insert(each.kills.begin(), each.kills.end());
      report.cases.insert(each.name);
    }
  }
  std::string table =
      row_text({"report", "reported against", "cases", "faults", "red today"}) + "| --- | --- | --- | --- | --- |\n";
  for (const auto& [url, report] : reports) {
    std::vector<std::string> still;
    for (const auto& [converter, rows] : verdicts) {
      std::set<std::string> red;
      for (const results::ResultRow& row : rows) {
        if (report.cases.contains(row.key.case_name) && has_defect(row)) red.insert(row.key.case_name);
      }
      if (!red.empty()) still.push_back(fmt::format("{} ({}/{})", converter, red.size(), report.cases.size()));
    }
    table += row_text({url, escaped(report.against), listed_names(report.families), listed_names(report.faults),
                       core::join(still, ", ")});
  }
  return table;
}

}  // namespace assay::report
