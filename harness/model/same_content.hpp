#pragma once

#include "harness/model/graph.hpp"

namespace assay::model {

/// The same graph with the same constants, which may be other objects; constants inside attributes must be the same.
[[nodiscard]] bool same_content(const Model& a, const Model& b);

}  // namespace assay::model
