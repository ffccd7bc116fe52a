#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// Adds to the message of each finding what the wrong value is, where that can be told: weights or scales of another
/// channel, in reverse order, of another axis or another tensor; an activation's scale that is another tensor's; an
/// operand that is another one, an attribute with another value. Says nothing where several things or none fit.
void add_hints(const LayerContext& context, std::vector<Finding>& findings);

}  // namespace assay::judge
