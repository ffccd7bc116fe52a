#pragma once

#include <memory>

#include "converters/converter.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// The options that a ready artifact was evidently made with under `policy`: activation type, symmetry, granularity.
/// `fallback` where the artifact does not show it.
[[nodiscard]] converters::Options evident_options(const std::shared_ptr<const model::Model>& artifact,
                                                  const model::Model& original, const converters::Options& fallback,
                                                  const converters::Policy& policy);

}  // namespace assay::judge
