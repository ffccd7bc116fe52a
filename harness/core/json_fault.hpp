#pragma once

#include <string>
#include <string_view>

namespace assay::core {

/// What is wrong with a JSON text and where, out of the words of the library's exception: "not valid JSON: line 2,
/// column 12: …".
[[nodiscard]] inline std::string json_fault(std::string_view what) {
  constexpr std::string_view kBefore = "parse error at ";
  const std::size_t at = what.find(kBefore);
  return "not valid JSON: " + std::string(at == std::string_view::npos ? what : what.substr(at + kBefore.size()));
}

}  // namespace assay::core
