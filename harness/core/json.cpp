#include "harness/core/json.hpp"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::core {
namespace {

Error json_error(std::string message) { return {ErrorKind::invalid_data, std::move(message), {}, {}, {}}; }

/// What is wrong and where, out of the words of the library's exception: "not valid JSON: line 2, column 12: …".
std::string json_fault(std::string_view what) {
  constexpr std::string_view kBefore = "parse error at ";
  const std::size_t at = what.find(kBefore);
  return "not valid JSON: " + std::string(at == std::string_view::npos ? what : what.substr(at + kBefore.size()));
}

/// Whether more than `most` lists and objects stand in each other. A text that is no JSON may be said to nest deeper
/// than it does, never less deep.
bool nests_deeper(std::string_view text, std::size_t most) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// Finds a key that stands twice in one object, while the text is parsed.
template <typename Json>
class KeysOnce {
 public:
  bool operator()(int depth, typename Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) {
      if (seen_.size() <= level + 1) seen_.resize(level + 2);
      seen_[level + 1].clear();
    }
    if (event == Json::parse_event_t::key) {
      if (seen_.size() <= level) seen_.resize(level + 1);
      std::string key = parsed.template get<std::string>();
      if (!seen_[level].insert(key).second && twice_.empty()) twice_ = std::move(key);
    }
    return true;
  }
  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> seen_;
  std::string twice_;
};

/// The rule of length or depth that `text` breaks.
std::optional<Error> broken_rule(std::string_view text, const JsonRules& rules) {
  if (text.size() > rules.bytes) {
    return json_error(fmt::format("JSON of {} bytes, more than the limit of {}", text.size(), rules.bytes));
  }
  if (nests_deeper(text, rules.depth)) {
    return json_error(fmt::format("JSON whose lists and objects nest more than {} deep", rules.depth));
  }
  return std::nullopt;
}

}  // namespace

template <typename Json>
Result<Json> read_json(std::string_view text, const JsonRules& rules) {
  if (auto broken = broken_rule(text, rules)) return *std::move(broken);
  try {
    if (!rules.unique_keys) return Json::parse(text);
    KeysOnce<Json> keys;
    Json parsed = Json::parse(text, std::ref(keys));
    if (!keys.twice().empty()) return json_error("key \"" + keys.twice() + "\" stands twice in one object");
    return parsed;
  } catch (const typename Json::exception& error) {
    return json_error(json_fault(error.what()));
  }
}

template <typename Json>
Json json_or_discarded(std::string_view text, const JsonRules& rules) {
  if (broken_rule(text, rules)) return Json(Json::value_t::discarded);
  if (!rules.unique_keys) return Json::parse(text, nullptr, false);  // without throwing and its cost
  Result<Json> read = read_json<Json>(text, rules);
  return read ? *std::move(read) : Json(Json::value_t::discarded);
}

template Result<nlohmann::json> read_json(std::string_view, const JsonRules&);
template Result<nlohmann::ordered_json> read_json(std::string_view, const JsonRules&);
template nlohmann::json json_or_discarded(std::string_view, const JsonRules&);
template nlohmann::ordered_json json_or_discarded(std::string_view, const JsonRules&);

}  // namespace assay::core
