#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::core {

/// A name as messages show it between quotes: what would end the quotes or the line is escaped as in JSON.
[[nodiscard]] std::string visible_name(std::string_view name);

/// Where the quotes that open at `begin` close, an escaped one passed over; npos where they don't.
[[nodiscard]] std::size_t end_of_quotes(std::string_view text, std::size_t begin);

}  // namespace assay::core
