#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::core {

/// Shortest decimal that reads back as the same float32 (double for exact_text64); "NaN", "Infinity", "-Infinity".
[[nodiscard]] std::string exact_text(float value);
[[nodiscard]] std::string exact_text64(double value);

/// A number as a whole text. Nothing where something else follows, or it is no finite number.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// Up to `limit` of `choices`, nearest to `word` by edit distance first, to their beginnings and then to them
/// whole: for "did you mean" messages.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word, std::span<const std::string> choices,
                                               std::size_t limit = 5);

/// `text` matches `pattern` with `*` (any run, also '/') and `?` as wildcards.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// `text` matches one of the patterns between blanks and none of those behind a '!': "a* b !a:x". Where all stand
/// behind one, or there is none, everything else matches.
[[nodiscard]] bool any_glob_match(std::string_view patterns, std::string_view text);
/// The same of any of `texts`.
[[nodiscard]] bool any_glob_match(std::string_view patterns, std::span<const std::string> texts);

/// SHA-256 as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace assay::core
