#include "converters/protocol/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/json.hpp"
#include "harness/core/text.hpp"

namespace assay::protocol {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 3> kUnusualNumbers{
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"Infinity", std::numeric_limits<double>::infinity()},
     {"-Infinity", -std::numeric_limits<double>::infinity()}}};
/// How much of a line that can't be understood is shown.
constexpr std::size_t kShownBytes = 120;

/// Puts quotes around Python's bare NaN, Infinity and -Infinity, which JSON does not know.
std::string quote_unusual_numbers(std::string_view line) {
  std::string quoted;
  quoted.reserve(line.size() + 16);
  bool in_string = false;
  for (std::size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (in_string && c == '\\') {
      quoted.append(line.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    const auto* const word = in_string || (c != 'N' && c != 'I' && c != '-')
                                 ? kUnusualNumbers.end()
                                 : std::ranges::find_if(kUnusualNumbers, [&](const auto& entry) {
                                     return line.substr(i).starts_with(entry.first);
                                   });
    const std::size_t length = word == kUnusualNumbers.end() ? 0 : word->first.size();
    if (length > 0 && (i + length == line.size() || std::isalnum(static_cast<unsigned char>(line[i + length])) == 0)) {
      quoted.append("\"").append(word->first).append("\"");
      i += length;
      continue;
    }
    quoted.push_back(c);
    ++i;
  }
  return quoted;
}

}  // namespace

Error broken(std::string message) {
  return {core::ErrorKind::invalid_data, "protocol: " + std::move(message), "", "", ""};
}

std::string shown(std::string_view line) {
  std::string text(line.substr(0, kShownBytes));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return line.size() > kShownBytes ? text + "…" : text;
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

Result<json> read_object(std::string_view line) {
  json object = core::json_or_discarded<json>(line);
  if (object.is_discarded()) {
    const std::string quoted = quote_unusual_numbers(line);
    if (quoted != line) object = core::json_or_discarded<json>(quoted);
  }
  if (object.is_discarded()) return broken(fmt::format("a line that is no JSON: {}", shown(line)));
  if (!object.is_object()) return broken(fmt::format("a line that is no JSON object: {}", shown(line)));
  return object;
}

const json* find(const json& object, std::string_view key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::optional<double> as_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    for (const auto& [name, unusual] : kUnusualNumbers) {
      if (value.get_ref<const std::string&>() == name) return unusual;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const json& value) {
  constexpr double kLargest = 9007199254740992.0;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62U) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double real = value.get<double>();
  if (!(std::abs(real) <= kLargest) || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

Error wrong_kind(std::string_view key, std::string_view wanted, const json& value) {
  return broken(fmt::format("\"{}\" must be {}, not {}", key, wanted, shown(text_of(value))));
}

Status read(const json& object, std::string_view key, std::string& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  if (!value->is_string()) return wrong_kind(key, "a string", *value);
  out = value->get<std::string>();
  return core::success();
}

Status read(const json& object, std::string_view key, bool& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  if (!value->is_boolean()) return wrong_kind(key, "true or false", *value);
  out = value->get<bool>();
  return core::success();
}

Status read(const json& object, std::string_view key, double& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  const auto real = as_number(*value);
  if (!real) return wrong_kind(key, "a number", *value);
  out = *real;
  return core::success();
}

Status read(const json& object, std::string_view key, std::vector<std::string>& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  std::vector<std::string> words;
  for (const json& word : *value) {
    if (!value->is_array() || !word.is_string()) return wrong_kind(key, "a list of strings", *value);
    words.push_back(word.get<std::string>());
  }
  out = std::move(words);
  return core::success();
}

Status read(const json& object, std::string_view key, std::vector<std::int64_t>& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  std::vector<std::int64_t> numbers;
  for (const json& each : *value) {
    const auto number = as_integer(each);
    if (!value->is_array() || !number) return wrong_kind(key, "a list of integers", *value);
    numbers.push_back(*number);
  }
  out = std::move(numbers);
  return core::success();
}

Error unknown_word(std::string_view key, std::string_view word, const std::vector<std::string>& choices) {
  return broken(fmt::format("\"{}\" is \"{}\"; choose one of {}", key, word,
                            core::join(core::nearest(word, choices, choices.size()), ", ")));
}

}  // namespace assay::protocol
