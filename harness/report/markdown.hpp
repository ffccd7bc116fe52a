#pragma once

#include <string>
#include <vector>

#include "harness/core/text.hpp"

namespace assay::report {

/// Free text as a cell of a table.
[[nodiscard]] inline std::string escaped(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

[[nodiscard]] inline std::string row_text(const std::vector<std::string>& cells) {
  return "| " + core::join(cells, " | ") + " |\n";
}

}  // namespace assay::report
