#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/words.hpp"

/// Lines of JSON and their fields, as protocol 1 has them: what is wrong is an error whose message begins with
/// "protocol: ".
namespace assay::protocol {

using core::Error;
using core::Result;
using core::Status;
using nlohmann::json;

[[nodiscard]] Error broken(std::string message);
/// The beginning of a line or value, fit to be shown in a message.
[[nodiscard]] std::string shown(std::string_view line);
/// `value` in one line; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string text_of(const json& value);

/// A line that holds one object; Python's bare NaN, Infinity and -Infinity are taken too.
[[nodiscard]] Result<json> read_object(std::string_view line);
/// The value of `key`, or null where it is absent or null.
[[nodiscard]] const json* find(const json& object, std::string_view key);
/// A number or one of the words for numbers that JSON lacks.
[[nodiscard]] std::optional<double> as_number(const json& value);
/// An integer, also one written with a fraction of zero.
[[nodiscard]] std::optional<std::int64_t> as_integer(const json& value);

/// "\"key\" must be `wanted`, not …".
[[nodiscard]] Error wrong_kind(std::string_view key, std::string_view wanted, const json& value);

/// Readers of one field. Absent leaves `out` as it is; another kind of value is an error that names the key.
[[nodiscard]] Status read(const json& object, std::string_view key, std::string& out);
[[nodiscard]] Status read(const json& object, std::string_view key, bool& out);
[[nodiscard]] Status read(const json& object, std::string_view key, double& out);
[[nodiscard]] Status read(const json& object, std::string_view key, std::vector<std::string>& out);
[[nodiscard]] Status read(const json& object, std::string_view key, std::vector<std::int64_t>& out);
template <typename T>
[[nodiscard]] Status read(const json& object, std::string_view key, std::optional<T>& out) {
  if (find(object, key) == nullptr) return core::success();
  T value{};
  if (auto status = read(object, key, value); !status) return status;
  out = std::move(value);
  return core::success();
}
/// That `word` is none of `choices`, the nearest first.
[[nodiscard]] Error unknown_word(std::string_view key, std::string_view word, const std::vector<std::string>& choices);
/// One of an enum's words; anything else is an error that lists them.
template <core::Worded E>
[[nodiscard]] Status read(const json& object, std::string_view key, E& out) {
  std::string word(core::word_of(out));
  if (auto status = read(object, key, word); !status) return status;
  const std::optional<E> value = core::find_word<E>(word);
  if (!value) return unknown_word(key, word, core::all_words<E>());
  out = *value;
  return core::success();
}

/// The first of several that failed.
template <typename... Statuses>
[[nodiscard]] Status first_failure(Statuses... statuses) {
  Status result = core::success();
  ((result.ok() && !statuses.ok() ? void(result = statuses) : void()), ...);
  return result;
}

}  // namespace assay::protocol
