#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "results/store.hpp"

namespace assay::report {

/// The first sentence of what is recorded of a verdict, its first finding; "" for a pass.
[[nodiscard]] std::string recorded_message(const results::ResultRow& row);

/// Of `rows`, oldest first, those of the versions at which their series changed against the version before, by the
/// rules of drift (results::changes_since), and of its oldest version. Series that never changed are left out.
[[nodiscard]] std::vector<results::Store::HistoryRow> changed_versions(
    std::span<const results::Store::HistoryRow> rows);

/// Of `rows`, oldest first, those of the series that have been as they are now since `version` or a later one, and were
/// otherwise before.
[[nodiscard]] std::vector<results::Store::HistoryRow> became_so_since(std::span<const results::Store::HistoryRow> rows,
                                                                      const std::string& version);

/// One recorded verdict as `history --json` shows it.
[[nodiscard]] nlohmann::ordered_json history_json(const results::Store::HistoryRow& row);
/// The same in one line; `with_program`: with the hash of the converter's program.
[[nodiscard]] std::string history_line(const results::Store::HistoryRow& row, bool with_program);

/// How many series they are.
[[nodiscard]] std::size_t series_count(std::span<const results::Store::HistoryRow> rows);

/// Each series of `rows` (a case's content, an option set, a converter) by version: its newest verdict there, the SQNR
/// and where that lies between the series' least and largest, over at least 1 dB, and where it became wrong its
/// message; then since which version it has been as it is now, with stage and facet, and since which it has been
/// broken in any way. Series of one version are left out.
[[nodiscard]] std::string history_plots(std::span<const results::Store::HistoryRow> rows);

/// One line for each series: its newest verdict, since which version it has been so, and how many there are.
[[nodiscard]] std::string history_summary(std::span<const results::Store::HistoryRow> rows);

}  // namespace assay::report
