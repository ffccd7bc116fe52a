#pragma once

#include <string>

#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"

namespace assay::corpus {

/// Reads "pypi:PACKAGE==VERSION/path/in/package". Errors   invalid_case for another form or a path that leaves the cache.
[[nodiscard]] core::Result<RemoteModel> parse_remote(const std::string& text, const std::string& sha256);

/// Loads the model, or says in `unavailable` why not.
[[nodiscard]] core::Status load_remote(Case& test_case);

}  // namespace assay::corpus
