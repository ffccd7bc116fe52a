#include "harness/run/run_plan.hpp"

#include <fmt/format.h>

#include <utility>

namespace assay::run {
using results::JobKey;

JobKey key_of(const corpus::Case& test_case, const corpus::OptionSet& set, const programs::Subject& subject) {
  return {test_case.name, set.label, subject.description.name, subject.description.version, subject.hash};
}

core::Result<RunPlan> make_plan(const RunConfig& config, const std::vector<programs::Subject>& subjects) {
  RunPlan plan;
  for (const RunItem& item : config.items) {
    for (const programs::Subject& subject : subjects) {
      if (!subject.runs(item.test_case)) {
        continue;
      }
      for (const corpus::OptionSet& set : item.option_sets) {
        JobKey key = key_of(item.test_case, set, subject);
        if (!plan.index.emplace(key, plan.jobs.size()).second) {
          return core::Error{core::ErrorKind::internal,
                             fmt::format("case \"{}\" with options \"{}\" by {} {} is planned twice", key.case_name,
                                         key.options, key.converter, key.version),
                             {},
                             {},
                             {}};
        }
        if (subject.unavailable().empty()) {
          plan.available.push_back(key);
        }
        plan.jobs.push_back(std::move(key));
      }
    }
  }
  return plan;
}

}  // namespace assay::run
