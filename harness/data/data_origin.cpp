#include "harness/data/data_origin.hpp"

#include <fmt/format.h>

#include "harness/core/counted.hpp"

namespace assay::data {
namespace {

using judge::DataSource;

std::string calibration_text(const DataOrigin& origin, std::uint64_t seed) {
  switch (origin.calibration) {
    case DataSource::given:
      return fmt::format("calibration given ({})", core::counted(origin.batches, "batch", "batches"));
    case DataSource::generated:
      return fmt::format("calibration generated (seed {})", seed);
    case DataSource::stands_in:
      return fmt::format("calibration not given: the inputs stand in ({})",
                         core::counted(origin.batches, "batch", "batches"));
    case DataSource::unknown:
      return "calibration not given: activations' ranges aren't judged (--calibration)";
  }
  return "";
}

std::string inputs_text(const DataOrigin& origin, std::uint64_t seed) {
  // Their names are those that messages use.
  const std::string named =
      origin.data_sets < 2 ? " \"typical\""
      : origin.data_sets == 2
          ? ": \"typical\", the first, and \"inputs_1\""
          : fmt::format(": \"typical\", the first, and \"inputs_1\" to \"inputs_{}\"", origin.data_sets - 1);
  const std::string sets = core::counted(origin.data_sets, "data set") + named;
  switch (origin.inputs) {
    case DataSource::given:
      return fmt::format("inputs given ({})", sets);
    case DataSource::generated:
      return fmt::format("inputs generated (seed {})", seed);
    default:
      return fmt::format("inputs not given: calibration data stand in ({})", sets);
  }
}

}  // namespace

DataOrigin origin_of(const std::optional<UserData>& data, Conversion conversion) {
  DataOrigin origin;
  const bool here = conversion == Conversion::here;
  if (data) {
    origin.calibration = data->calibrated ? DataSource::given : here ? DataSource::stands_in : DataSource::unknown;
    origin.inputs = data->inputs_source;
    origin.batches = data->calibration.size();
    origin.data_sets = data->inputs.size();
    return origin;
  }
  origin.calibration = here ? DataSource::generated : DataSource::unknown;
  origin.inputs = DataSource::generated;
  return origin;
}

std::string calibration_line(const UserCase& user, Conversion conversion) {
  return "data: " + calibration_text(origin_of(user.data, conversion), user.test_case.calibration.seed);
}

std::string data_line(const UserCase& user, Conversion conversion) {
  const DataOrigin origin = origin_of(user.data, conversion);
  return fmt::format("{}, {}", calibration_line(user, conversion), inputs_text(origin, user.test_case.seed));
}

nlohmann::ordered_json data_json(const UserCase& user, Conversion conversion) {
  const DataOrigin origin = origin_of(user.data, conversion);
  nlohmann::ordered_json json{{"calibration", judge::data_source_name(origin.calibration)},
                              {"inputs", judge::data_source_name(origin.inputs)},
                              {"ranges_judged", origin.calibration != DataSource::unknown},
                              {"batches", nullptr},
                              {"data_sets", nullptr},
                              {"calibration_seed", nullptr},
                              {"inputs_seed", nullptr}};
  if (user.data) {
    json["batches"] = origin.batches;
    json["data_sets"] = origin.data_sets;
  }
  if (origin.calibration == DataSource::generated) json["calibration_seed"] = user.test_case.calibration.seed;
  if (origin.inputs == DataSource::generated) json["inputs_seed"] = user.test_case.seed;
  return json;
}

}  // namespace assay::data
