#include "results/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace assay::results {
namespace {

constexpr std::size_t kLongestText = 300;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word_end(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("\"'(),;[]{}=").find(c) != std::string::npos;
}

/// Length of the number at the start of `text`: digits with sign, point and exponent, or a hexadecimal address.
std::size_t number_length(std::string_view text) {
  std::size_t i = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (text.substr(i).starts_with("0x")) {
    i += 2;
    while (i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0) ++i;
    return i;
  }
  if (i >= text.size() || !is_digit(text[i])) return 0;
  const auto skip_digits = [&] {
    while (i < text.size() && is_digit(text[i])) ++i;
  };
  skip_digits();
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    ++i;
    skip_digits();
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t sign = i + 1 < text.size() && (text[i + 1] == '-' || text[i + 1] == '+') ? 1 : 0;
    if (i + 1 + sign < text.size() && is_digit(text[i + 1 + sign])) {
      i += 1 + sign;
      skip_digits();
    }
  }
  return i;
}

/// "#,#" and "#, #" are one list, whose length is a number too.
bool continues_list(const std::string& text) {
  const auto end = text.find_last_not_of(' ');
  return end != std::string::npos && end > 0 && (text[end] == ',' || text[end] == 'x') && text[end - 1] == '#';
}

}  // namespace

std::string without_numbers_and_paths(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    if (i == 0 || is_word_end(line[i - 1])) {
      const std::string_view rest = line.substr(i);
      const auto word =
          rest.substr(0, static_cast<std::size_t>(std::ranges::find_if(rest, is_word_end) - rest.begin()));
      if (word.size() > 1 && word.find('/') != std::string_view::npos) {
        out += "<path>";
        i += word.size();
        continue;
      }
    }
    if (const std::size_t length = number_length(line.substr(i)); length > 0) {
      if (continues_list(out)) {
        out.erase(out.find_last_of('#') + 1);
      } else {
        out.push_back('#');
      }
      i += length;
      continue;
    }
    const bool blank = std::isspace(static_cast<unsigned char>(line[i])) != 0;
    if (!blank || (!out.empty() && out.back() != ' ')) out.push_back(blank ? ' ' : line[i]);
    ++i;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.substr(0, kLongestText);
}

std::string signature(std::string_view verdict, std::string_view stage, std::string_view facet, std::string_view op,
                      std::string_view message) {
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back())) != 0) message.remove_suffix(1);
  const auto first_end = message.find('\n');
  std::string text = without_numbers_and_paths(message.substr(0, first_end));
  if (first_end != std::string_view::npos) {
    text += " … " + without_numbers_and_paths(message.substr(message.find_last_of('\n') + 1));
  }
  return fmt::format("{}|{}|{}|{}|{}", verdict, stage, facet, op, text);
}

}  // namespace assay::results
