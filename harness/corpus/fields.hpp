#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::corpus {

/// Reads a JSON object key by key. The first mistake is kept in `problem` (invalid_case, with the path of keys) and
/// every later read answers with its fallback, so that a parser reads straight through and looks at `problem` once.
/// Refers to `json` and `problem`; both must outlive it.
class Fields {
 public:
  Fields(const nlohmann::ordered_json& json, std::string where, std::optional<core::Error>& problem);

  /// Complains about every key that is not among `keys`, naming the nearest.
  void allow(std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] const nlohmann::ordered_json& raw(std::string_view key) const;
  [[nodiscard]] Fields object(std::string_view key) const;
  [[nodiscard]] std::vector<Fields> objects(std::string_view key) const;

  [[nodiscard]] std::string string(std::string_view key, std::string fallback = "") const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback = 0) const;
  /// A number, or one of the strings "NaN", "Infinity", "-Infinity".
  [[nodiscard]] double real(std::string_view key, double fallback = 0) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<double> reals(std::string_view key) const;
  /// A list of strings, or a single one.
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const;
  /// Two numbers in order; nothing where the key is absent.
  [[nodiscard]] std::optional<std::pair<double, double>> interval(std::string_view key) const;
  /// An object of strings.
  [[nodiscard]] std::map<std::string, std::string> string_map(std::string_view key) const;

  /// Records `message` about `key` unless something was wrong before.
  void complain(std::string_view key, std::string_view message) const;
  /// Complains about `key` unless `name`, a `what`, is among `known`; the complaint lists the nearest.
  void require_known(std::string_view key, const std::string& name, const std::string& what,
                     const std::vector<std::string>& known) const;
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] std::optional<core::Error>& problem() const { return *problem_; }

 private:
  [[nodiscard]] const nlohmann::ordered_json* find(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;

  const nlohmann::ordered_json* json_;
  std::string where_;
  std::optional<core::Error>* problem_;
};

}  // namespace assay::corpus
