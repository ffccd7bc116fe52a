#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::cli {

/// `converter` is "NAME", "NAME@VERSION", or "" for all.
[[nodiscard]] bool by_converter(const results::JobKey& key, const std::string& converter);

/// A complete run of the database: the one whose UUID is `run`, else the newest that has verdicts of `converter`.
/// Errors   usage, where there is none.
[[nodiscard]] core::Result<results::RunInfo> find_run(results::Store& store, const std::filesystem::path& database,
                                                      const std::string& run, const std::string& converter);

/// What verdicts of `converter` are compared to: all accepted anchors where `version` is empty, else what was accepted
/// of that version, its newest verdict where nothing was.
/// Errors   usage, for a version without verdicts, naming those that there are.
[[nodiscard]] core::Result<std::vector<results::AnchorRow>> baseline(results::Store& store,
                                                                     const std::filesystem::path& database,
                                                                     const std::string& converter,
                                                                     const std::string& version);

/// The verdict of a case that the last run recorded: of several its first red one.
struct LastVerdict {
  results::Store::HistoryRow last;
  /// The newest one of each other converter and version, as `--converter` names it, with its verdict.
  std::map<std::string, std::string> others;
};
/// Of the option set `options`, where one is named. Nothing where none is recorded, or where the file isn't there.
[[nodiscard]] core::Result<std::optional<LastVerdict>> last_verdict(const std::filesystem::path& database,
                                                                    const std::string& case_name,
                                                                    const std::string& options);

/// Errors   usage, for a version without verdicts, naming those that there are.
[[nodiscard]] core::Status check_version(const std::string& version, const std::filesystem::path& database,
                                         const std::string& converter, const std::vector<std::string>& known);

}  // namespace assay::cli
