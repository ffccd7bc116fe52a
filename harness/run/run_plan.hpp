#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "harness/programs/subject.hpp"
#include "harness/run/runner.hpp"

namespace assay::run {

/// Every verdict that a run is to make.
struct RunPlan {
  std::vector<results::JobKey> jobs;       ///< in order: case, converter, option set
  std::vector<results::JobKey> available;  ///< those of converters that can run here
  std::map<results::JobKey, std::size_t> index;
};

/// Errors   internal, for a verdict that is planned twice.
[[nodiscard]] core::Result<RunPlan> make_plan(const RunConfig& config, const std::vector<programs::Subject>& subjects);

[[nodiscard]] results::JobKey key_of(const corpus::Case& test_case, const corpus::OptionSet& set,
                                     const programs::Subject& subject);

/// One verdict of an item: a converter of the run and one of the item's option sets.
struct Place {
  std::size_t subject = 0, set = 0;
};
[[nodiscard]] inline std::size_t number_of(const RunItem& item, Place place) {
  return place.subject * item.option_sets.size() + place.set;
}
[[nodiscard]] inline Place place_of(const RunItem& item, std::size_t number) {
  return {number / item.option_sets.size(), number % item.option_sets.size()};
}

}  // namespace assay::run
