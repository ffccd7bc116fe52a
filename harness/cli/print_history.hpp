#pragma once

#include <span>
#include <string>

#include "results/store.hpp"

namespace assay::cli {

/// Each series of `rows` (a case's content, an option set, a converter) by version: its newest verdict there, the SQNR
/// and where that lies between the series' least and largest, over at least 1 dB; then since which version it has been
/// as it is now, with stage and facet. Series of one version are left out.
[[nodiscard]] std::string history_plots(std::span<const results::Store::HistoryRow> rows);

}  // namespace assay::cli
