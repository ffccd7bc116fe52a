#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/interned.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Writes one verdict and all that belongs to it, at its position in the plan; inside the caller's transaction. `run`
/// is the run's number in this database.
[[nodiscard]] core::Status insert_result(Database& database, Interned& interned, std::int64_t run,
                                         std::optional<std::int64_t> position, const ResultRow& row);

/// How much of a verdict is read.
enum class Children {
  parameters,  ///< and what a verdict covers: what drift and tables compare
  all,
};

/// Reads verdicts by number. What verdicts share is remembered, so that a reader lives as long as one question.
class ResultReader {
 public:
  explicit ResultReader(Database& database);
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;
  ~ResultReader();
  /// Errors   io, where there is no such verdict, or it refers to what isn't there.
  [[nodiscard]] core::Result<ResultRow> read(std::int64_t id, Children children);
  /// A text by its number, as it is stored; "" for none.
  [[nodiscard]] core::Result<const std::string*> text(std::optional<std::int64_t> id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A run's verdicts in the order of its plan.
[[nodiscard]] core::Result<std::vector<ResultRow>> read_results(Database& database, const std::string& run);

/// The same, one at a time, each with its number in this database.
[[nodiscard]] core::Status each_result(Database& database, const std::string& run,
                                       const std::function<void(std::int64_t id, ResultRow row)>& take);

/// One number per row of an answer, gathered before anything else is asked.
template <typename... Values>
core::Result<std::vector<std::int64_t>> read_ids(Database& database, const char* sql, const Values&... values) {
  std::vector<std::int64_t> ids;
  auto status = database.query(
      sql, [&](const Row& row) { ids.push_back(row.integer(0)); }, values...);
  if (!status) return status.error();
  return ids;
}

}  // namespace assay::results
