#pragma once

#include <string>
#include <utility>

#include "harness/core/result.hpp"

namespace assay::corpus {

/// The complaint about a case or suite file.
[[nodiscard]] inline core::Error case_error(std::string message) {
  return {core::ErrorKind::invalid_case, std::move(message), {}, {}, {}};
}

}  // namespace assay::corpus
