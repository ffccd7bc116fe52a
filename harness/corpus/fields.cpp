#include "harness/corpus/fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/text.hpp"

namespace assay::corpus {

using nlohmann::ordered_json;

namespace {

const ordered_json& empty_object() {
  static const ordered_json empty = ordered_json::object();
  return empty;
}

std::optional<double> real_of(const ordered_json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const ordered_json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

}  // namespace

Fields::Fields(const ordered_json& json, std::string where, std::optional<core::Error>& problem)
    : json_(&json), where_(std::move(where)), problem_(&problem) {
  if (!json.is_object()) {
    if (!problem) problem = core::Error{core::ErrorKind::invalid_case, where_ + ": must be an object", "", "", ""};
    json_ = &empty_object();
  }
}

std::string Fields::path(std::string_view key) const {
  if (key.empty()) return where_;
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

void Fields::complain(std::string_view key, std::string_view message) const {
  if (*problem_) return;
  const std::string at = path(key);
  *problem_ =
      core::Error{core::ErrorKind::invalid_case, (at.empty() ? "" : at + ": ") + std::string(message), "", "", ""};
}

const ordered_json* Fields::find(std::string_view key) const {
  const auto found = json_->find(std::string(key));
  return found == json_->end() ? nullptr : &*found;
}

bool Fields::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : json_->items()) out.push_back(key);
  return out;
}

void Fields::allow(std::initializer_list<std::string_view> keys) const {
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const std::string& key : this->keys()) {
    bool found = false;
    for (const std::string_view allowed : keys) found = found || allowed == key;
    if (found) continue;
    complain(key, "unknown key; the nearest known are: " + core::join(core::nearest(key, known, 3), ", "));
  }
}

const ordered_json& Fields::raw(std::string_view key) const {
  const ordered_json* value = find(key);
  return value == nullptr ? empty_object() : *value;
}

Fields Fields::object(std::string_view key) const { return Fields(raw(key), path(key), *problem_); }

std::vector<Fields> Fields::objects(std::string_view key) const {
  std::vector<Fields> out;
  const ordered_json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) {
    complain(key, "must be a list of objects");
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    out.emplace_back((*value)[i], path(key) + "[" + std::to_string(i) + "]", *problem_);
  }
  return out;
}

std::string Fields::string(std::string_view key, std::string fallback) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  complain(key, "must be a string, not " + value->dump());
  return fallback;
}

std::int64_t Fields::integer(std::string_view key, std::int64_t fallback) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto number = integer_of(*value)) return *number;
  complain(key, "must be an integer, not " + value->dump());
  return fallback;
}

double Fields::real(std::string_view key, double fallback) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto number = real_of(*value)) return *number;
  complain(key, "must be a number, not " + value->dump());
  return fallback;
}

std::vector<std::int64_t> Fields::integers(std::string_view key) const {
  std::vector<std::int64_t> out;
  const ordered_json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) complain(key, "must be a list of integers, not " + value->dump());
  for (const auto& element : *value) {
    const auto number = integer_of(element);
    if (!number) complain(key, "must hold integers only, not " + element.dump());
    out.push_back(number.value_or(0));
  }
  return out;
}

std::vector<double> Fields::reals(std::string_view key) const {
  std::vector<double> out;
  const ordered_json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) complain(key, "must be a list of numbers, not " + value->dump());
  for (const auto& element : *value) {
    const auto number = real_of(element);
    if (!number) complain(key, "must hold numbers only, not " + element.dump());
    out.push_back(number.value_or(0));
  }
  return out;
}

std::vector<std::string> Fields::strings(std::string_view key) const {
  std::vector<std::string> out;
  const ordered_json* value = find(key);
  if (value == nullptr) return out;
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) complain(key, "must be a list of strings, not " + value->dump());
  for (const auto& element : *value) {
    if (element.is_string()) {
      out.push_back(element.get<std::string>());
    } else {
      complain(key, "must hold strings only, not " + element.dump());
    }
  }
  return out;
}

std::optional<std::pair<double, double>> Fields::interval(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::vector<double> ends = reals(key);
  if (ends.size() == 2 && ends[0] <= ends[1]) return std::pair(ends[0], ends[1]);
  complain(key, "must be [low, high]");
  return std::nullopt;
}

std::map<std::string, std::string> Fields::string_map(std::string_view key) const {
  std::map<std::string, std::string> names;
  if (!has(key)) return names;
  const Fields entries = object(key);
  for (const std::string& name : entries.keys()) names[name] = entries.string(name);
  return names;
}

void Fields::require_known(std::string_view key, const std::string& name, const std::string& what,
                           const std::vector<std::string>& known) const {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  complain(key, "unknown " + what + " \"" + name +
                    "\"; the nearest known are: " + core::join(core::nearest(name, known, 4), ", "));
}

}  // namespace assay::corpus
