#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/store.hpp"

namespace assay::results {

/// What many verdicts share and the database holds once: texts, outcomes, cases, converters, expected failures. Finds
/// the number of each, adds what isn't there. It remembers numbers, so that it lives inside one transaction.
class Interned {
 public:
  explicit Interned(Database& database) : database_(&database) {}

  [[nodiscard]] core::Result<std::int64_t> text(std::string_view text);
  /// Nothing for "".
  [[nodiscard]] core::Result<std::optional<std::int64_t>> optional_text(std::string_view text);
  /// Verdict, stage and all other words of a verdict.
  [[nodiscard]] core::Result<std::int64_t> outcome(const ResultRow& row);
  [[nodiscard]] core::Result<std::int64_t> case_version(const ResultRow& row);
  [[nodiscard]] core::Result<std::int64_t> converter_version(const JobKey& key);
  [[nodiscard]] core::Result<std::int64_t> expectation(const ExpectationRow& row);

 private:
  Database* database_;
  std::unordered_map<std::string, std::int64_t> texts_, outcomes_, cases_, converters_;
};

/// By which a text is looked for: FNV-1a of 64 bits. Part of the database's format.
[[nodiscard]] std::int64_t text_hash(std::string_view text);

}  // namespace assay::results
