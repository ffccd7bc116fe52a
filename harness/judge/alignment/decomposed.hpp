#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// An operator may come out as others that amount to the same: a BatchNormalization as a Mul and an Add, a Gemm as a
/// MatMul and an Add, a Div by a constant as a Mul by its reciprocal, a Sub of one as an Add of its negative.
/// `original` with those in its place, by the names that `artifact` has for what lies between them. Whether the
/// artifact has the constants that they ask for, the audit finds as for any others.
///
/// Returns  null where no operator came out so.
[[nodiscard]] std::shared_ptr<const OriginalForm> decomposed(const model::Model& original,
                                                             const std::shared_ptr<const model::Model>& artifact);

}  // namespace assay::judge
