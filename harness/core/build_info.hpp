#pragma once

namespace assay::core {

/// "0.1.0".
[[nodiscard]] const char* version();

/// The commit that this program was built from, "-changed" behind it where files differed; "unknown" without a
/// repository.
[[nodiscard]] const char* commit();

}  // namespace assay::core
