#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::report {

/// Every string of a table once, numbered in the order of first use; 0 is "".
class Strings {
 public:
  Strings();
  [[nodiscard]] std::size_t number(std::string_view text);
  [[nodiscard]] std::string json() const;

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::string text_;
};

/// A table as columns of numbers in JSON, {"name":[…],…}. Every row gives every column its value.
class Columns {
 public:
  explicit Columns(Strings& strings) : strings_(&strings) {}
  void text(const std::string& column, std::string_view value);
  void whole(const std::string& column, std::int64_t value);
  void real(const std::string& column, const std::optional<double>& value);
  [[nodiscard]] std::string json() const;

 private:
  Strings* strings_;
  std::map<std::string, std::string> columns_;
  void add(const std::string& column, std::string_view value);
};

}  // namespace assay::report
