#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/store.hpp"

namespace assay::run {

/// The SQNR that a reader wants first, of the output where it is least, whatever the order of the data sets.
struct Headline {
  std::optional<double> whole_db, predicted_whole_db;  ///< over all data sets; absent where there is one
  std::optional<double> worst_db, predicted_worst_db;
  std::string worst_data_set, worst_output;
};
[[nodiscard]] Headline headline_of(const results::ResultRow& row);

/// One verdict as `--json` shows it.
[[nodiscard]] nlohmann::ordered_json result_json(const results::ResultRow& row);

/// The largest losses, worst first, with the SQNR that is left behind each.
[[nodiscard]] std::vector<std::pair<results::MetricRow, double>> largest_losses(const results::ResultRow& row);

}  // namespace assay::run
