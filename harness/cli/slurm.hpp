#pragma once

#include <filesystem>
#include <string>

#include "harness/core/result.hpp"
#include "harness/run/work_plan.hpp"

namespace assay::cli {

/// What the scripts for Slurm are made of beside the plan.
struct SlurmOptions {
  std::filesystem::path program;   ///< Assay, as every node finds it
  std::filesystem::path database;  ///< that the last job merges into
  std::filesystem::path pack;      ///< folder of `assay pack`, unpacked once per node and run there; empty: none
};

/// Errors   usage, where `pack` is no folder that `assay pack` made.
[[nodiscard]] core::Status check_pack(const std::filesystem::path& pack);

/// Writes into the plan's folder below slurm/: array-1.sh …, an array job for each kind of machine with a task for each
/// of its chunks; merge.sh, which runs after the end of them all, whatever it was; and submit.sh, which submits them.
/// Errors   as check_pack(), where there is one; io.
[[nodiscard]] core::Status write_slurm_scripts(const run::WorkPlan& plan, const run::PlanFolder& folder,
                                               const SlurmOptions& options);

}  // namespace assay::cli
