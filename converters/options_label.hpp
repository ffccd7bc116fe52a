#pragma once

#include <optional>
#include <string>

#include "converters/converter.hpp"

namespace assay::converters {

/// The options that options_label() calls `label`; nothing where it calls none so, or says too little: a cache, a
/// label that a suite gave.
[[nodiscard]] std::optional<Options> options_of_label(const std::string& label);

/// Whether two objects of options, in JSON, ask for the same.
[[nodiscard]] bool same_options(const std::string& one, const std::string& other);

}  // namespace assay::converters
