#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/core/result.hpp"
#include "harness/model/survey.hpp"

namespace assay::conformance {

/// Why a stored case that the reference can't run is none of its business: one of a short list of categories
/// (docs/conformance.md), written "category: what the case uses". `error` is what kept the reference from running it.
/// Nothing where the case falls in no category: then the reference should have run it.
[[nodiscard]] std::optional<std::string> category_of(const model::ModelSurvey& survey, const core::Error& error);

}  // namespace assay::conformance
