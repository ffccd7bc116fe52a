#pragma once

#include <string>
#include <string_view>

#include "harness/core/result.hpp"

namespace assay::report {

[[nodiscard]] std::string base64(std::string_view bytes);
/// Packed, as base64: what a browser's DecompressionStream("deflate") reads.
[[nodiscard]] core::Result<std::string> packed(std::string_view bytes);
/// JSON that may stand inside a script element, whatever its strings hold: no "<", ">" and "&" is left in it.
[[nodiscard]] std::string for_script_element(std::string_view json);
/// A JSON string. Bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string json_string(std::string_view text);
/// A number with up to six digits. JSON knows no infinity: "1e999" reads as one; null is not a number.
[[nodiscard]] std::string json_number(double value);

}  // namespace assay::report
