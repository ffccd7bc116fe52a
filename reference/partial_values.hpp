#pragma once

#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// Adds to `outputs`, which the operator's rule gave, the values that follow from those of the inputs: all of them
/// where the inputs are constant, and lists of integers of which some are known (OpDef::data says how they travel).
/// Only small tensors: what shapes are made of.
void add_values(const OpDef& op, const ShapeCall& call, std::vector<TensorFacts>& outputs);

}  // namespace assay::reference
