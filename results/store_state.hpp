#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/owner.hpp"
#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/interned.hpp"
#include "results/store.hpp"

namespace assay::results {

/// What a run has verdicts of, in the order of its plan.
inline constexpr const char* kDoneJobs =
    "SELECT case_version.name, content.text, converter.name, version, converter_version.hash, position FROM verdict "
    "JOIN case_version ON case_version.id = case_version_id JOIN content ON content.id = options JOIN "
    "converter_version ON converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id "
    "WHERE run = ? ORDER BY position, verdict.id";

/// The database behind a store, and what is done to it within a transaction of the caller's.
struct Store::State {
  State(Database opened, std::filesystem::path path) : database(std::move(opened)), file(std::move(path)) {}
  Database database;
  std::filesystem::path file;
  std::string self = core::this_process();
  std::mutex mutex;

  core::Status insert_machine(const Machine& m);
  core::Status insert_run(const RunInfo& run);

  /// The programs that called themselves so: number and hash.
  core::Result<std::vector<std::pair<std::int64_t, std::string>>> programs_of(const std::string& converter,
                                                                              const std::string& version);
  core::Result<std::int64_t> run_number(const std::string& run);
  core::Status insert_job(std::int64_t run, const JobKey& key, std::string_view state, std::int64_t position);
  core::Status start_job(std::int64_t run, const JobKey& key);

  /// Takes a job that its verdict stands for from now on out of the open ones: its position, or nothing where it is
  /// none of them.
  core::Result<std::optional<std::int64_t>> close_job(std::int64_t run, const JobKey& key);

  /// The job keys of a run's verdicts with their positions in its plan.
  core::Result<std::map<JobKey, std::int64_t>> verdict_keys(std::int64_t run);
  [[nodiscard]] core::Status in_place() const;

  /// `status`, or why it is as it is where the file has gone.
  [[nodiscard]] core::Status explained(core::Status status) const;
  core::Status record(const std::string& run, const ResultRow& row);

  struct Lock {
    std::string owner;
    std::int64_t beats = 0;
  };
  core::Result<Lock> lock_of(const std::string& run);

  /// Errors   internal, where the run isn't this process's: another one may have taken over what looked dead.
  core::Status owned(const std::string& run);

  /// Gives the run to this process if it still belongs to `before`.
  core::Status take(const std::string& run, const std::string& before);
  static core::Error under_way(const std::string& run, const std::string& owner);

  /// Inside the caller's transaction.
  core::Status merge_run(const RecordedRun& from, Interned& interned, MergeCount& count);

  /// Inside the caller's transaction, once all of `runs` are there.
  core::Status merge_accepted(const std::vector<RecordedRun>& runs);
};

}  // namespace assay::results
