#pragma once

#include <vector>

#include "converters/protocol/client.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/run/evaluate.hpp"
#include "results/store.hpp"

namespace assay::run {

/// A verdict with all that is recorded of it. `attempts` are those of the request that decided it, with those of
/// earlier ones that had to be asked again; `expected` is the expected failure that it was compared with, or null.
[[nodiscard]] results::ResultRow result_row(const results::JobKey& key, const corpus::Case& test_case,
                                            const Evaluation& evaluation,
                                            const std::vector<protocol::Attempt>& attempts,
                                            const corpus::ExpectedFailure* expected = nullptr);

[[nodiscard]] results::FindingRow finding_row(const judge::Finding& finding);

}  // namespace assay::run
