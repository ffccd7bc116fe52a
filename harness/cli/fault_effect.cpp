#include "harness/cli/fault_effect.hpp"

#include <fmt/format.h>

#include <memory>

#include "converters/embedded/embedded.hpp"
#include "harness/core/text.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/trial.hpp"

namespace assay::cli {

core::Status check_faults_apply(const ConverterOptions& converters, const std::vector<run::RunItem>& items) {
  if (converters.faults.empty()) return core::success();
  const auto right = embedded::make_embedded({}, converters.variant);
  if (!right) return right.error();
  const auto wrong = embedded::make_embedded(converters.faults, converters.variant);
  if (!wrong) return wrong.error();
  const core::Result<converters::Description> description = (*right)->describe();
  if (!description) return description.error();
  for (const run::RunItem& item : items) {
    if (item.test_case.model == nullptr) continue;
    const core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(item.test_case, item.data);
    if (!bench) return bench.error();
    // Options may keep in float what the fault is about, which is worth a run.
    std::vector<corpus::OptionSet> sets = item.option_sets;
    sets.push_back({"default", "{}"});
    for (const corpus::OptionSet& options : sets) {
      const run::Trial with = (*bench)->attempt(**wrong, *description, options.options_json);
      const run::Trial without = (*bench)->attempt(**right, *description, options.options_json);
      if (!run::same_trial(with, without)) return core::success();
    }
  }
  return core::Error{core::ErrorKind::usage,
                     fmt::format("--fault {} changes nothing here: no node of {} is such as it is about, and every "
                                 "conversion and output is that of the right converter",
                                 core::join(converters.faults, ", "),
                                 items.size() == 1 ? "the model" : fmt::format("the {} models", items.size())),
                     {},
                     {},
                     {}};
}

}  // namespace assay::cli
