#pragma once

#include <vector>

#include "harness/cli/common.hpp"

namespace assay::cli {

/// The faults that are switched on must change a conversion or an execution of one of the cases, under its options or
/// the default ones: else every verdict is that of the right converter. For a run in which nothing is red. Errors
/// usage, naming the faults.
[[nodiscard]] core::Status check_faults_apply(const ConverterOptions& converters,
                                              const std::vector<run::RunItem>& items);

}  // namespace assay::cli
