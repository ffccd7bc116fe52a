#pragma once

#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "results/store.hpp"

namespace assay::run {

/// One verdict as `--json` shows it.
[[nodiscard]] nlohmann::ordered_json result_json(const results::ResultRow& row);

/// The largest losses, worst first, with the SQNR that is left behind each.
[[nodiscard]] std::vector<std::pair<results::MetricRow, double>> largest_losses(const results::ResultRow& row);

}  // namespace assay::run
