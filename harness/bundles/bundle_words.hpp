#pragma once

#include <filesystem>

#include "harness/bundles/bundle.hpp"

namespace assay::bundles {

/// Writes what a reader opens first: README.md, with the verdict and the one command, and replay.sh, which is it.
[[nodiscard]] core::Status write_words(const Bundle& bundle, const std::filesystem::path& name);

}  // namespace assay::bundles
