#pragma once

#include <memory>

#include "converters/converter.hpp"

namespace assay::programs {

/// Runs a ready artifact through the reference executor: what `assay check --artifact` uses, where the artifact is
/// judged and no converter's engine. It converts nothing.
[[nodiscard]] std::unique_ptr<converters::Converter> make_reference_executor();

}  // namespace assay::programs
