#include "harness/report/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"
#include "results/cause.hpp"

namespace assay::report {
namespace {

using results::ResultRow;

std::string title_of(const ResultRow& row) { return row.op.empty() ? place_of(row) : place_of(row) + " at " + row.op; }

auto size_of(const ResultRow* row) { return std::tuple(row->nodes(), row->key.case_name.size(), row->key); }

}  // namespace

std::vector<Cause> causes_of(std::span<const ResultRow> rows, judge::Gate gate) {
  std::vector<Cause> causes;
  std::map<std::string, std::size_t> index;
  for (const ResultRow& row : rows) {
    if (run::gate_of(row) != gate) continue;
    const auto [entry, added] = index.emplace(results::cause_of(row), causes.size());
    if (added) causes.push_back({title_of(row), {}, &row});
    Cause& cause = causes[entry->second];
    cause.rows.push_back(&row);
    if (size_of(&row) < size_of(cause.smallest)) cause.smallest = &row;
  }
  std::ranges::stable_sort(causes, std::greater<>(), [](const Cause& cause) { return cause.rows.size(); });
  return causes;
}

}  // namespace assay::report
