#include "harness/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "harness/core/quoted.hpp"

namespace assay::report {
namespace {

constexpr int kDigits = 4;
/// Beyond these a double's decimals are those of its binary form.
constexpr int kMostDigits = 17;
constexpr std::size_t kWholeDigits = 9;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string figure_of(double value, int digits) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  return fmt::format("{:.{}g}", value, digits);
}

/// A decimal number in a line: where it stands, and whether it is to be shortened.
struct Number {
  std::size_t begin = 0, length = 0;
  double value = 0;
};

/// Length of the decimal number at `i`, without a sign; 0 where there is none that is long. A version ("1.31.1"), a
/// name with digits and a path are none.
std::size_t long_number(std::string_view line, std::size_t i) {
  std::size_t end = i, digits = 0;
  bool point = false, exponent = false;
  while (end < line.size() && is_digit(line[end])) ++end, ++digits;
  if (digits == 0) return 0;
  if (end + 1 < line.size() && line[end] == '.' && is_digit(line[end + 1])) {
    point = true;
    for (++end; end < line.size() && is_digit(line[end]); ++end) ++digits;
    if (end + 1 < line.size() && line[end] == '.' && is_digit(line[end + 1])) return 0;
  }
  if (end + 1 < line.size() && line[end] == 'e') {
    std::size_t after = end + 1 + (line[end + 1] == '-' || line[end + 1] == '+' ? 1 : 0);
    if (after < line.size() && is_digit(line[after])) {
      while (after < line.size() && is_digit(line[after])) ++after;
      end = after;
      exponent = true;
    }
  }
  if (end < line.size() && is_word(line[end])) return 0;
  const bool is_long = point || exponent ? digits > static_cast<std::size_t>(kDigits) : digits > kWholeDigits;
  return is_long ? end - i : 0;
}

std::vector<Number> long_numbers(std::string_view line) {
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '"') i = std::min(core::end_of_quotes(line, i), line.size() - 1);
    const bool begins = is_digit(line[i]) && (i == 0 || (!is_word(line[i - 1]) && line[i - 1] != '.'));
    if (const std::size_t length = begins ? long_number(line, i) : 0; length > 0) {
      numbers.push_back({i, length, std::strtod(std::string(line.substr(i, length)).c_str(), nullptr)});
      i += length;
    } else if (begins) {
      while (i < line.size() && (is_word(line[i]) || line[i] == '.')) ++i;
    } else {
      ++i;
    }
  }
  return numbers;
}

/// The fewest digits, from kDigits on, that tell all different numbers of a line apart.
int digits_that_tell_apart(const std::vector<Number>& numbers) {
  std::set<double> values;
  for (const Number& number : numbers) values.insert(number.value);
  for (int digits = kDigits; digits < kMostDigits; ++digits) {
    std::set<std::string> texts;
    for (const double value : values) texts.insert(figure_of(value, digits));
    if (texts.size() == values.size()) return digits;
  }
  return kMostDigits;
}

std::string short_line(std::string_view line) {
  const std::vector<Number> numbers = long_numbers(line);
  const int digits = digits_that_tell_apart(numbers);
  std::string text;
  std::size_t done = 0;
  for (const Number& number : numbers) {
    text += line.substr(done, number.begin - done);
    text += figure_of(number.value, digits);
    done = number.begin + number.length;
  }
  return text + std::string(line.substr(done));
}

}  // namespace

std::string fixed(double value, int decimals) {
  // What would show five digits once it is rounded.
  const double most = std::pow(10.0, kDigits - decimals) - 0.5 * std::pow(10.0, -decimals);
  // What rounds to zero has no sign.
  if (std::abs(value) < 0.5 * std::pow(10.0, -decimals)) value = 0;
  return std::abs(value) < most ? fmt::format("{:.{}f}", value, decimals) : figure(value);
}

std::string decibels(double value) { return fixed(value, 1) + " dB"; }

std::string figure(double value) { return figure_of(value, kDigits); }

std::string with_short_figures(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t end = text.find('\n');
    result += short_line(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace assay::report
