#include "harness/report/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/run/exit_code.hpp"
#include "results/signature.hpp"

namespace assay::report {
namespace {

using results::ResultRow;

/// Names in quotes become "…".
std::string without_names(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text[i] == '"' ? text.find('"', i + 1) : std::string::npos;
    if (end == std::string::npos) {
      result += text[i++];
    } else {
      result += "\"…\"";
      i = end + 1;
    }
  }
  return result;
}

std::string place_of(const ResultRow& row) {
  const std::string where = row.facet.empty() ? row.stage : row.stage + "/" + row.facet;
  return row.op.empty() ? where : where + " at " + row.op;
}

auto size_of(const ResultRow* row) { return std::tuple(row->nodes(), row->key.case_name.size(), row->key); }

}  // namespace

std::string cause_key(const ResultRow& row) {
  return without_names(row.signature.empty() ? results::signature(row.verdict, row.stage, row.facet, row.op, row.reason)
                                             : row.signature);
}

std::vector<Cause> causes_of(std::span<const ResultRow> rows, const std::function<bool(const ResultRow&)>& wanted) {
  std::vector<Cause> causes;
  std::map<std::string, std::size_t> index;
  for (const ResultRow& row : rows) {
    if (!wanted(row)) continue;
    const auto [entry, added] = index.emplace(cause_key(row), causes.size());
    if (added) {
      const std::string first = row.reason.substr(0, row.reason.find('\n'));
      causes.push_back({place_of(row), without_names(results::without_numbers_and_paths(first)), {}, &row});
    }
    Cause& cause = causes[entry->second];
    cause.rows.push_back(&row);
    if (size_of(&row) < size_of(cause.smallest)) cause.smallest = &row;
  }
  std::ranges::stable_sort(causes, std::greater<>(), [](const Cause& cause) { return cause.rows.size(); });
  return causes;
}

std::vector<Cause> red_causes(std::span<const ResultRow> rows) {
  return causes_of(rows, [](const ResultRow& row) { return run::gate_of(row) == judge::Gate::red; });
}

}  // namespace assay::report
