#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::core {

// What others wrote (names, reasons, paths, rows of a database) is text of any bytes. These four are the ways on which
// it goes on; each gives valid UTF-8 without what a terminal would obey: control characters, escape sequences, and
// characters that turn the direction of writing.

/// A name as messages show it between quotes: what would end the quotes or the line is escaped as in JSON.
[[nodiscard]] std::string visible_name(std::string_view name);

/// Text of one or more lines; line ends and tabs stay.
[[nodiscard]] std::string visible_text(std::string_view text);

/// Text that must not begin a line of its own: a line end is escaped too.
[[nodiscard]] std::string visible_line(std::string_view text);

/// `text` with each line after the first beginning with a blank: none of them can be taken for an entry of its own.
[[nodiscard]] std::string one_entry(std::string_view text);
/// Valid UTF-8, every other byte replaced by U+FFFD; all else stays.
[[nodiscard]] std::string utf8_text(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Where the quotes that open at `begin` close, an escaped one passed over; npos where they don't.
[[nodiscard]] std::size_t end_of_quotes(std::string_view text, std::size_t begin);

}  // namespace assay::core
