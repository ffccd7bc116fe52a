#include "harness/corpus/expression.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/core/text.hpp"
#include "harness/corpus/case_error.hpp"

namespace assay::corpus {
namespace {

using nlohmann::ordered_json;

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Number {
  double value = 0;
  bool integer = true;
};

/// Parses the longest arithmetic expression at a position. Operands that are missing end it before their operator, so
/// that "$n-x" is read as "$n" followed by text.
class Parser {
 public:
  Parser(std::string_view text, std::size_t position, const Bindings& bindings, bool blanks)
      : text_(text), position_(position), bindings_(bindings), blanks_(blanks) {}

  std::optional<Number> sum() {
    auto left = product();
    while (left) {
      const std::size_t before = position_;
      skip_blanks();
      const char op = peek();
      if (op != '+' && op != '-') return stop_at(before, left);
      ++position_;
      const auto right = product();
      if (!right) return stop_at(before, left);
      ++operators_;
      left->value = op == '+' ? left->value + right->value : left->value - right->value;
      left->integer = left->integer && right->integer;
    }
    return left;
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] int operators() const { return operators_; }
  [[nodiscard]] int names() const { return names_; }
  [[nodiscard]] bool divided_by_zero() const { return divided_by_zero_; }
  [[nodiscard]] bool too_deep() const { return too_deep_; }

 private:
  std::optional<Number> product() {
    auto left = factor();
    while (left) {
      const std::size_t before = position_;
      skip_blanks();
      const char op = peek();
      if (op != '*' && op != '/' && op != '%') return stop_at(before, left);
      ++position_;
      const bool floor = op == '/' && peek() == '/';
      if (floor) ++position_;
      const auto right = factor();
      if (!right) return stop_at(before, left);
      ++operators_;
      left = combine(*left, *right, op, floor);
    }
    return left;
  }

  Number combine(Number a, Number b, char op, bool floor) {
    const bool integer = a.integer && b.integer;
    if (op == '*') return {a.value * b.value, integer};
    if (b.value == 0) {
      divided_by_zero_ = true;
      return {};
    }
    if (op == '%') return {a.value - b.value * std::floor(a.value / b.value), integer};
    const double quotient = a.value / b.value;
    if (floor) return {std::floor(quotient), integer};
    return {quotient, integer && quotient == std::floor(quotient)};
  }

  /// One more while it lives.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --depth_; }

   private:
    int& depth_;
  };

  std::optional<Number> factor() {
    constexpr int kDeepest = 100;  // parentheses and signs in each other: the parser calls itself for each
    skip_blanks();
    const std::size_t before = position_;
    too_deep_ = too_deep_ || depth_ > kDeepest;
    if (too_deep_) return stop_at(before, std::optional<Number>{});
    const Level level(depth_);
    if (peek() == '-') {
      ++position_;
      auto value = factor();
      if (!value) return stop_at(before, value);
      value->value = -value->value;
      return value;
    }
    if (peek() == '(') {
      ++position_;
      auto value = sum();
      skip_blanks();
      if (!value || peek() != ')') return stop_at(before, std::optional<Number>{});
      ++position_;
      return value;
    }
    return peek() == '$' ? name() : literal();
  }

  std::optional<Number> name() {
    const std::size_t before = position_;
    ++position_;
    const bool braces = peek() == '{';
    if (braces) ++position_;
    const std::size_t start = position_;
    while (is_name_char(peek())) ++position_;
    const auto found = bindings_.find(std::string(text_.substr(start, position_ - start)));
    if (braces && peek() == '}') ++position_;
    if (found == bindings_.end() || !found->second.is_number()) return stop_at(before, std::optional<Number>{});
    ++names_;
    return Number{found->second.get<double>(), found->second.is_number_integer()};
  }

  std::optional<Number> literal() {
    const std::size_t start = position_;
    while (is_digit(peek())) ++position_;
    const bool fraction = position_ > start && peek() == '.' && is_digit(peek(1));
    if (fraction) {
      ++position_;
      while (is_digit(peek())) ++position_;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + position_, value);
    if (position_ == start || error != std::errc{}) return stop_at(start, std::optional<Number>{});
    return Number{value, !fraction};
  }

  std::optional<Number> stop_at(std::size_t position, std::optional<Number> value) {
    position_ = position;
    return value;
  }
  void skip_blanks() {
    while (blanks_ && peek() == ' ') ++position_;
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  std::size_t position_;
  const Bindings& bindings_;
  bool blanks_;
  int operators_ = 0;
  int names_ = 0;
  int depth_ = 0;
  bool divided_by_zero_ = false, too_deep_ = false;
};

core::Error too_deep(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return case_error("parentheses or signs nest too deep in \"" + std::string(text.substr(0, kShown)) +
                    (text.size() > kShown ? "…\"" : "\""));
}

ordered_json number_json(const Number& number) {
  constexpr double kExact = 9007199254740992.0;  // from there on a double skips integers
  if (number.integer && std::abs(number.value) <= kExact) return static_cast<std::int64_t>(std::llround(number.value));
  return number.value;
}

core::Error unknown_name(std::string_view name, const Bindings& bindings) {
  std::vector<std::string> known;
  for (const auto& [key, value] : bindings) known.push_back("$" + key);
  const std::string hint = known.empty() ? std::string("there is no matrix")
                                         : "known: " + core::join(core::nearest("$" + std::string(name), known), ", ");
  return case_error("\"$" + std::string(name) + "\" is not a key of the matrix (" + hint + ")");
}

struct Piece {
  std::string text;
  std::size_t end = 0;
};

/// The replacement of "$…" at `position`, which holds a dollar sign.
core::Result<Piece> replace_name(std::string_view text, std::size_t position, const Bindings& bindings) {
  if (text.substr(position + 1, 1) == "$") return Piece{"$", position + 2};
  const bool braces = text.substr(position + 1, 1) == "{";
  const std::size_t start = position + (braces ? 2 : 1);
  std::size_t end = start;
  while (end < text.size() && is_name_char(text[end])) ++end;
  const std::string name(text.substr(start, end - start));
  if (braces && text.substr(end, 1) != "}") return case_error("\"${" + name + "\" lacks its closing brace");
  const auto found = bindings.find(name);
  if (found == bindings.end()) return unknown_name(name, bindings);
  return Piece{value_text(found->second), end + (braces ? 1U : 0U)};
}

/// Whether an expression may begin here: not in the middle of a word, and only where it could hold a "$".
bool may_start(std::string_view text, std::size_t position) {
  const char c = text[position];
  if (c == '$') return true;
  const char before = position > 0 ? text[position - 1] : ' ';
  if (c == '-') return std::string_view("=,([ ").find(before) != std::string_view::npos;
  return (c == '(' || is_digit(c)) && !is_name_char(before) && before != '.' && before != '$';
}

core::Result<std::string> substitute_text(std::string_view text, const Bindings& bindings) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (may_start(text, i)) {
      Parser parser(text, i, bindings, false);
      const auto value = parser.sum();
      if (parser.too_deep()) return too_deep(text.substr(i));
      // "Relu ($x)": parentheses around a single name belong to the text.
      const bool taken = value && parser.names() > 0 && (text[i] != '(' || parser.operators() > 0);
      if (taken && parser.divided_by_zero()) return case_error("division by zero in \"" + std::string(text) + "\"");
      if (taken) {
        out += value_text(number_json(*value));
        i = parser.position();
        continue;
      }
      // Numbers alone are text, and no expression that begins among them reaches a name behind them.
      if (value && parser.names() == 0) {
        out += text.substr(i, parser.position() - i);
        i = parser.position();
        continue;
      }
    }
    if (text[i] == '$') {
      const auto piece = replace_name(text, i, bindings);
      if (!piece) return piece.error();
      out += piece->text;
      i = piece->end;
      continue;
    }
    out += text[i++];
  }
  return out;
}

core::Result<ordered_json> substitute_string(const std::string& text, const Bindings& bindings) {
  if (text.find('$') == std::string::npos) return ordered_json(text);
  if (text.front() == '$') {
    const auto found = bindings.find(text.substr(1));
    if (found != bindings.end()) return found->second;
  }
  Parser parser(text, 0, bindings, true);
  const auto value = parser.sum();
  if (parser.too_deep()) return too_deep(text);
  if (value && parser.position() == text.size() && parser.names() > 0) {
    if (parser.divided_by_zero()) return case_error("division by zero in \"" + text + "\"");
    return number_json(*value);
  }
  auto replaced = substitute_text(text, bindings);
  if (!replaced) return replaced.error();
  return ordered_json(std::move(*replaced));
}

}  // namespace

std::string value_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

core::Result<ordered_json> substitute(const ordered_json& value, const Bindings& bindings) {
  if (value.is_string()) return substitute_string(value.get_ref<const std::string&>(), bindings);
  if (value.is_array()) {
    ordered_json out = ordered_json::array();
    for (const auto& element : value) {
      auto replaced = substitute(element, bindings);
      if (!replaced) return replaced.error();
      out.push_back(std::move(*replaced));
    }
    return out;
  }
  if (value.is_object()) {
    ordered_json out = ordered_json::object();
    for (const auto& [key, element] : value.items()) {
      const auto new_key = substitute_text(key, bindings);
      if (!new_key) return new_key.error().within(key);
      auto replaced = substitute(element, bindings);
      if (!replaced) return replaced.error().within(key);
      out[*new_key] = std::move(*replaced);
    }
    return out;
  }
  return value;
}

}  // namespace assay::corpus
