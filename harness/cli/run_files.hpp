#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::cli {

/// What of one recorded run is to be written for other programs.
struct RunFiles {
  std::filesystem::path database;
  std::string run;                      ///< UUID; "": the newest complete one
  std::vector<std::string> converters;  ///< NAME or NAME@VERSION; none: all of the run
  std::string junit, sarif, markdown;   ///< files, "" for none
  std::string against;                  ///< of `markdown`: "anchor", VERSION or NAME@VERSION
};

/// Writes these files from the run's verdicts in the database.
/// Errors   usage, where there is no such run, or nothing to compare it to; io.
[[nodiscard]] core::Status write_run_files(const RunFiles& files);

}  // namespace assay::cli
