#pragma once

#include <string>

namespace assay::core {

/// `text` in single quotes where a shell would need them.
[[nodiscard]] std::string shell_quoted(const std::string& text);

}  // namespace assay::core
