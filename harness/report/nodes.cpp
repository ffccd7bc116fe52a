#include "harness/report/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "harness/core/counted.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/report/figures.hpp"

namespace assay::report {
namespace {

using localize::NodeRow;

std::string number(const std::optional<double>& value, int digits) { return value ? fixed(*value, digits) : ""; }

nlohmann::ordered_json json_number(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return core::exact_text64(*value);
  return *value;
}

std::string table(const std::vector<const NodeRow*>& rows) {
  std::size_t width = 4;
  std::vector<std::string> names;
  for (const NodeRow* row : rows) {
    names.push_back(core::visible_name(row->node));
    width = std::max(width, names.back().size());
  }
  // An artifact alone doesn't say what ran in INT8.
  const bool known = std::ranges::any_of(rows, [](const NodeRow* row) { return !row->precision.empty(); });
  const auto in = [&](std::string_view word) { return known ? fmt::format(" {:>6}", word) : std::string(); };
  std::string text = fmt::format("  {:<{}}  {:<18}{} {:>9} {:>9} {:>8} {:>8}\n", "node", width, "operator", in("in"),
                                 "local dB", "so far", "lost", "margin");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NodeRow* row = rows[i];
    text += fmt::format("  {:<{}}  {:<18}{} {:>9} {:>9} {:>8} {:>8}{}\n", names[i], width, row->op, in(row->precision),
                        number(row->local_db, 1), number(row->sqnr_db, 1), number(row->loss_db, 1),
                        number(localize::shown_margin(*row), 2),
                        localize::is_wrong(*row)  ? "  <- wrong"
                        : row->fused_into.empty() ? ""
                                                  : fmt::format("  fused into \"{}\"", core::visible_name(row->fused_into)));
  }
  return text;
}

}  // namespace

nlohmann::ordered_json node_json(const NodeRow& row) {
  return {
      {"node", row.node},
      {"op", row.op},
      {"precision", row.precision.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.precision)},
      {"local_sqnr_db", json_number(row.local_db)},
      {"sqnr_db", json_number(row.sqnr_db)},
      {"loss_db", json_number(row.loss_db)},
      {"margin", json_number(localize::shown_margin(row))},
      {"wrong", localize::is_wrong(row)},
      {"fused_into",
       row.fused_into.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.fused_into)}};
}

std::string wrong_nodes_text(std::span<const NodeRow> rows) {
  std::vector<const NodeRow*> wrong;
  for (const NodeRow& row : rows) {
    if (localize::is_wrong(row)) wrong.push_back(&row);
  }
  return table(wrong);
}

std::string node_table_text(std::span<const NodeRow> rows) {
  constexpr std::size_t kAll = 24, kLosses = 12, kWrong = 12;
  std::vector<const NodeRow*> known;
  for (const NodeRow& row : rows) {
    if (row.margin || row.sqnr_db || row.found || !row.precision.empty() || !row.fused_into.empty())
      known.push_back(&row);
  }
  if (known.empty()) return "";
  if (known.size() <= kAll) return table(known);
  std::vector<const NodeRow*> by_loss = known;
  std::ranges::stable_sort(by_loss, std::greater<>(), [](const NodeRow* row) { return row->loss_db.value_or(0); });
  std::set<const NodeRow*> shown(by_loss.begin(), by_loss.begin() + kLosses);
  std::size_t wrong = 0;
  for (const NodeRow* row : known) {
    if (localize::is_wrong(*row) && ++wrong <= kWrong) shown.insert(row);
  }
  std::vector<const NodeRow*> kept;
  std::ranges::copy_if(known, std::back_inserter(kept), [&](const NodeRow* row) { return shown.contains(row); });
  return table(kept) + fmt::format("  … {} of {}: the wrong ones{} and the largest losses; all with --json\n",
                                   kept.size(), core::counted(known.size(), "node"),
                                   wrong > kWrong ? fmt::format(" (first {} of {})", kWrong, wrong) : "");
}

}  // namespace assay::report
