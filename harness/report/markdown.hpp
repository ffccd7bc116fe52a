#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"

namespace assay::report {

/// Free text on one line, also as a cell of a table: no markup begins in it, and nothing that a terminal obeys.
[[nodiscard]] inline std::string escaped(const std::string& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?";
  std::string flat = text, cell;
  for (char& c : flat) c = c == '\n' ? ' ' : c;
  flat = core::visible_line(flat);
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const bool tag = flat[i] == '<' && i + 1 < flat.size() && kLetters.find(flat[i + 1]) != std::string_view::npos;
    const bool link = flat[i] == '(' && i > 0 && flat[i - 1] == ']';
    if (flat[i] == '|' || link) cell += '\\';
    cell += tag ? "&lt;" : std::string(1, flat[i]);
  }
  return cell;
}

/// Free text as a block of code, in a fence that it can't close.
[[nodiscard]] inline std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "\n" + core::visible_text(text) + "\n" + fence + "\n";
}

[[nodiscard]] inline std::string row_text(const std::vector<std::string>& cells) {
  return "| " + core::join(cells, " | ") + " |\n";
}

}  // namespace assay::report
