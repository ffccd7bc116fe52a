#include "harness/core/quoted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::core {
namespace {

constexpr unsigned char kFirstPrintable = 0x20, kDelete = 0x7f;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < kFirstPrintable || byte == kDelete;
}

}  // namespace

std::string visible_name(std::string_view name) {
  // A backslash alone ends nothing, and paths with it stay as they are.
  if (std::ranges::none_of(name, [](char c) { return c == '"' || is_control(c); })) return std::string(name);
  std::string shown;
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      shown += {'\\', c};
    } else if (c == '\n') {
      shown += "\\n";
    } else if (is_control(c)) {
      shown += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      shown += c;
    }
  }
  return shown;
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
