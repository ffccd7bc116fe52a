#pragma once

#include "converters/switchable.hpp"

namespace assay::embedded {

/// The embedded converter with its fault table and its variants (embedded.hpp).
[[nodiscard]] converters::Switchable switchable();

}  // namespace assay::embedded
