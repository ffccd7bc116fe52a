#include "harness/core/quoted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace assay::core {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Character {
  std::size_t bytes = 1;
  std::optional<std::uint32_t> code;  ///< nothing where the byte is no UTF-8
};

/// The character that begins at `at`: not overlong, no surrogate, at most U+10FFFF.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {};
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(at + i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return {};
  return {bytes, code};
}

/// Whether a terminal does something at it rather than show it: C0 and C1, DEL, line and paragraph separators, and
/// Unicode's marks, embeddings and isolates of direction.
bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// `text` with `show(code)` in the place of each character for which it isn't empty.
template <typename Show>
std::string shown(std::string_view text, const Show& show) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    const std::string other = character.code ? show(*character.code) : std::string(kReplacement);
    out += other.empty() ? text.substr(i, character.bytes) : std::string_view(other);
    i += character.bytes;
  }
  return out;
}

std::string escaped(std::uint32_t code) {
  return code == '\n' ? "\\n" : is_obeyed(code) ? fmt::format("\\u{:04x}", code) : std::string();
}

/// Printable ASCII, and what else `also` holds: what most text is.
bool is_plain(std::string_view text, std::string_view also) {
  return std::ranges::all_of(
      text, [&](char c) { return (c >= ' ' && c <= '~' && c != '"') || also.find(c) != std::string_view::npos; });
}

}  // namespace

std::string visible_name(std::string_view name) {
  if (is_plain(name, "")) return std::string(name);
  // A backslash alone ends nothing, and paths with it stay as they are.
  std::string line = visible_line(name);
  if (line == name && name.find('"') == std::string_view::npos) return line;
  return shown(name, [](std::uint32_t code) { return code == '"' ? "\\\"" : code == '\\' ? "\\\\" : escaped(code); });
}

std::string visible_text(std::string_view text) {
  if (is_plain(text, "\"\n\t")) return std::string(text);
  return shown(text, [](std::uint32_t code) { return code == '\n' || code == '\t' ? std::string() : escaped(code); });
}

std::string visible_line(std::string_view text) {
  if (is_plain(text, "\"")) return std::string(text);
  return shown(text, escaped);
}

std::string one_entry(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != '\n') out += "  ";
  }
  return out;
}

std::string utf8_text(std::string_view text) {
  return shown(text, [](std::uint32_t) { return std::string(); });
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (!character.code) return false;
    i += character.bytes;
  }
  return true;
}

std::size_t end_of_quotes(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '"' && text.find('"', i + 2) != std::string_view::npos)
      ++i;
  }
  return std::string_view::npos;
}

}  // namespace assay::core
