#include "results/cause.hpp"

#include <fmt/format.h>

#include <cctype>

#include "harness/core/quoted.hpp"
#include "results/signature.hpp"

namespace assay::results {
namespace {

std::string_view without_blank_end(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

/// A line as all verdicts of its cause have it. Names go first: a digit in one of them is no number.
std::string left_open(std::string_view line) { return without_numbers_and_paths(without_names(line)); }

}  // namespace

std::string without_names(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text[i] == '"' ? core::end_of_quotes(text, i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      result += text[i++];
    } else {
      result += "\"…\"";
      i = end + 1;
    }
  }
  return result;
}

std::string cause_of(const ResultRow& row) {
  if (row.facet.empty() && row.reason.empty()) return {};
  const std::string_view message = without_blank_end(row.reason);
  const std::size_t first_end = message.find('\n');
  std::string text = left_open(message.substr(0, first_end));
  if (first_end != std::string_view::npos) {
    const std::string_view last = message.substr(message.find_last_of('\n') + 1);
    if (!last.starts_with(' ')) text += " … " + left_open(last);
  }
  return fmt::format("{}|{}|{}|{}", row.stage, row.facet, row.op, text);
}

}  // namespace assay::results
