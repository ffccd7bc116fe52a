#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::results {

/// `verdicts`: what a report shows, findings included; without metrics, parameters and attempts, which are most of a
/// database and which drift is measured on.
enum class Detail { everything, verdicts };

/// Writes every run of `store`, without changes, as one file for another machine: a compact results database,
/// compressed as gzip does. Errors   io.
[[nodiscard]] core::Status write_results_file(Store& store, const std::filesystem::path& file,
                                              Detail detail = Detail::everything);

/// What a results file holds of a run.
struct HeldRun {
  RunInfo run;
  std::size_t verdicts = 0;
  /// Verdicts by converter and version.
  std::map<std::string, std::map<std::string, std::size_t>> converters;
};

/// A copy of a results file, sound and of the newest schema, which goes with this object.
class ResultsCopy {
 public:
  ResultsCopy(core::TemporaryFolder folder, std::filesystem::path database, std::vector<HeldRun> runs)
      : folder_(std::move(folder)), database_(std::move(database)), runs_(std::move(runs)) {}
  [[nodiscard]] const std::filesystem::path& database() const { return database_; }  ///< for Store::merge_database()
  [[nodiscard]] const std::vector<HeldRun>& runs() const { return runs_; }

 private:
  core::TemporaryFolder folder_;
  std::filesystem::path database_;
  std::vector<HeldRun> runs_;
};

/// Takes a file of write_results_file's, or a results database as it is (with the write-ahead log beside it, if a
/// killed run left one). The file stays untouched; older schemas are migrated in the copy. Errors   usage, for a file
/// that is missing, no results database, of a newer schema, damaged, or without any run.
[[nodiscard]] core::Result<ResultsCopy> read_results_file(const std::filesystem::path& file);

}  // namespace assay::results
