#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "harness/core/result.hpp"

namespace assay::core {

/// What a JSON text from elsewhere must keep to.
struct JsonRules {
  std::size_t depth = 100;                      ///< levels of lists and objects in each other
  std::size_t bytes = std::size_t{256} << 20U;  ///< of the text
  bool unique_keys = false;                     ///< nlohmann keeps one of two equal keys without a word
};

/// The one reader of JSON that another program or person wrote. The library's parser, writer and destructor recurse: a
/// text that nests too deep would end the process, and is refused before it is parsed. `Json` is nlohmann::json or
/// nlohmann::ordered_json.
/// Errors   invalid_data: "not valid JSON: line 2, column 12: …", or what rule it breaks.
template <typename Json>
[[nodiscard]] Result<Json> read_json(std::string_view text, const JsonRules& rules = {});

/// The same where it matters only whether the text can be read: a discarded value where not.
template <typename Json>
[[nodiscard]] Json json_or_discarded(std::string_view text, const JsonRules& rules = {});

}  // namespace assay::core
