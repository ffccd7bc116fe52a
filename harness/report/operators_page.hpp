#pragma once

#include <string>

#include "harness/conformance/operator_table.hpp"

namespace assay::report {

/// The table as docs/operators.md has it.
[[nodiscard]] std::string operators_page(const conformance::OperatorTable& table);

}  // namespace assay::report
