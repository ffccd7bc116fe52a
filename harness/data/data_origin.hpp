#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/data/user_case.hpp"
#include "harness/judge/judge.hpp"

namespace assay::data {

/// Is the model converted now, or was it before, with data that nobody but the user knows?
enum class Conversion { here, elsewhere };

/// Where the data of a verdict come from.
struct DataOrigin {
  judge::DataSource calibration = judge::DataSource::unknown;
  judge::DataSource inputs = judge::DataSource::unknown;
  std::size_t batches = 0, data_sets = 0;  ///< that were given or stand in
};
[[nodiscard]] DataOrigin origin_of(const std::optional<UserData>& data, Conversion conversion);

/// The first line of what a command says about a model of the user's: "data: calibration generated (seed 7), inputs
/// generated (seed 1)". Where ranges can't be judged for want of data, it says so.
[[nodiscard]] std::string data_line(const UserCase& user, Conversion conversion);
/// Its first half, for commands that execute nothing.
[[nodiscard]] std::string calibration_line(const UserCase& user, Conversion conversion);
/// The same for programs: {"calibration": "generated", "inputs": "given", "ranges_judged": true, …}.
[[nodiscard]] nlohmann::ordered_json data_json(const UserCase& user, Conversion conversion);

}  // namespace assay::data
