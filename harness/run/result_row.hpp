#pragma once

#include <vector>

#include "converters/protocol/client.hpp"
#include "harness/corpus/case.hpp"
#include "harness/run/evaluate.hpp"
#include "results/store.hpp"

namespace assay::run {

/// A verdict with all that is recorded of it. `attempts` are those of the request that decided it.
[[nodiscard]] results::ResultRow result_row(const results::JobKey& key, const corpus::Case& test_case,
                                            const Evaluation& evaluation,
                                            const std::vector<protocol::Attempt>& attempts);

[[nodiscard]] results::FindingRow finding_row(const judge::Finding& finding);

}  // namespace assay::run
