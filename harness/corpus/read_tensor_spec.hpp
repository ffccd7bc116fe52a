#pragma once

#include "harness/corpus/fields.hpp"
#include "harness/corpus/tensor_spec.hpp"

namespace assay::corpus {

/// Reads the description of one tensor (docs/cases.md, "described tensors"). What is wrong stands in
/// `fields.problem()`.
[[nodiscard]] TensorSpec read_tensor_spec(const Fields& fields);

}  // namespace assay::corpus
