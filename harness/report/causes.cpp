#include "harness/report/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/report/figures.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"
#include "results/cause.hpp"

namespace assay::report {
namespace {

using results::ResultRow;

std::string title_of(const ResultRow& row) { return row.op.empty() ? place_of(row) : place_of(row) + " at " + row.op; }

/// What tells causes of one title apart: how their messages begin, behind the place that they name.
std::string message_of(const ResultRow& row) {
  constexpr std::size_t kLongest = 70;
  std::string line = row.reason.substr(0, row.reason.find('\n'));
  if (const std::size_t place = line.find(": "); place != std::string::npos) line = line.substr(place + 2);
  line = results::without_names(with_short_figures(line));
  if (line.size() > kLongest) line = line.substr(0, std::min(line.rfind(' ', kLongest), kLongest)) + " …";
  return line;
}

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
  std::map<std::string, std::size_t> titles;
  for (const Cause& cause : causes) ++titles[cause.what];
  for (Cause& cause : causes) {
    const std::string message = titles[cause.what] > 1 ? message_of(*cause.smallest) : "";
    if (!message.empty()) cause.what += ": " + message;
  }
  std::ranges::stable_sort(causes, std::greater<>(), [](const Cause& cause) { return cause.rows.size(); });
  return causes;
}

}  // namespace assay::report
