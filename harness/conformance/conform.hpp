#pragma once

#include <filesystem>
#include <string_view>

#include "harness/judge/judge.hpp"

namespace assay::conformance {

/// Of the reference, as results record it.
inline constexpr std::string_view kReferenceVersion = "1.0.0";

/// Runs the stored case in `folder` through the reference and compares with its stored outputs. Never fails: what goes
/// wrong is the verdict.
///
/// Integers and booleans must be equal, and NaN where NaN is. A real value may differ by the first of these that is
/// enough for its whole tensor; `style` of the judgement says which:
/// "storage"     the rounding of the stored value to its type;
/// "arithmetic"  that, and what rounding every float operation of the model to its type can do, element by element;
/// "statistics"  that, and the statistical limit of float_limits.hpp, where a node has no rule for the former.
/// A case that can't run is `unsupported` when it falls in a category (categories.hpp), else a failure.
[[nodiscard]] judge::Explained conform(const std::filesystem::path& folder);

}  // namespace assay::conformance
