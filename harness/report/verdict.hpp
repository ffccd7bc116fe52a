#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/graph.hpp"
#include "results/store.hpp"

namespace assay::report {

/// The SQNR that a reader wants first, of the output where it is least, whatever the order of the data sets.
struct Headline {
  std::optional<double> whole_db, predicted_whole_db;  ///< over all data sets; absent where there is one
  std::optional<double> worst_db, predicted_worst_db;
  std::string worst_data_set, worst_output;
};
[[nodiscard]] Headline headline_of(const results::ResultRow& row);

/// Adds what results::ResultRow::judged_as says, under the key that fits: "made_by" or "changed".
void put_judged_as(nlohmann::ordered_json& verdict, const std::string& judged_as);

/// One verdict as `--json` shows it.
[[nodiscard]] nlohmann::ordered_json result_json(const results::ResultRow& row);

/// The largest losses, worst first, with the SQNR that is left behind each.
[[nodiscard]] std::vector<std::pair<results::MetricRow, double>> largest_losses(const results::ResultRow& row);

/// `json` in one line. Messages may quote a converter's bytes, which need not be UTF-8.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);

/// Where a verdict went wrong: "artifact/scale", or the stage alone.
[[nodiscard]] std::string place_of(const results::ResultRow& row);

/// What a margin beyond 1 is of, where no finding that is printed says it: ` on "one_hot"`, the data set on which an
/// output is furthest off, or " of the bias", the parameter of the first red finding; else "".
[[nodiscard]] std::string margin_of_text(const results::ResultRow& row);

/// Where a node's own error is further beyond its limit than the margin says: `, 68.9 at "conv_10"`; else "".
[[nodiscard]] std::string node_margin_text(const results::ResultRow& row);

/// One verdict in one line: verdict, case, options, converter, where it went wrong, layers, SQNR, margin.
/// `set_by_case`: what the case's own options change in the option set, in words.
[[nodiscard]] std::string verdict_line(const results::ResultRow& row, const std::string& set_by_case = "");

/// A verdict that is not green, in full, with the command that repeats it. With the `graph` that was converted it says
/// which of its findings may follow from the first; these come last, behind `further`.
[[nodiscard]] std::string failure_text(const results::ResultRow& row, const std::string& repeat_command,
                                       const model::Graph* graph = nullptr, const std::string& further = "");

/// The same in few lines: how its headline begins, and how many findings there are besides.
[[nodiscard]] std::string brief_failure_text(const results::ResultRow& row, const std::string& repeat_command);

/// The nodes' outputs where most accuracy is lost, a line each; empty where nothing is known.
[[nodiscard]] std::string losses_text(const results::ResultRow& row);

/// The SQNR over all data sets and of the worst, each beside what is predicted; empty where there is none.
[[nodiscard]] std::string headline_text(const results::ResultRow& row);

}  // namespace assay::report
