#pragma once

#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// One entry for each file of reference/ops, made by the build.
[[nodiscard]] std::vector<const OpDef*> listed_operators();

}  // namespace assay::reference
