#pragma once

#include <string>

#include "harness/run/explain.hpp"

namespace assay::report {

/// The verdict with its facets, then each layer: what was checked, how near to its limit, and the numbers behind.
[[nodiscard]] std::string explanation_text(const run::ExplainedVerdict& verdict);
/// The same facts as one JSON object.
[[nodiscard]] std::string explanation_json(const run::ExplainedVerdict& verdict);

}  // namespace assay::report
