#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/database.hpp"

namespace assay::results {

/// What of a database stays: what any rule names. Beside them stay every verdict that was accepted (the anchors), what
/// differs from one and nobody has accepted, the newest verdict of each case, option set and converter, that of each
/// series that has an anchor, and all of runs that aren't complete.
struct Retention {
  std::optional<std::size_t> runs;      ///< the newest runs of each selection and converter
  std::optional<std::size_t> versions;  ///< the newest versions of each converter
};

/// What goes, and what is left.
struct Pruned {
  std::size_t runs = 0, verdicts = 0;            ///< that go; of a run that keeps a verdict the run stays
  std::size_t kept_runs = 0, kept_verdicts = 0;  ///< that stay
  std::size_t bytes = 0;                         ///< that are free in the file then; for a plan: about
};

/// What prune() would do now.
[[nodiscard]] core::Result<Pruned> plan_prune(Database& database, const Retention& retention);
/// Deletes what `retention` doesn't keep, run by run, each with all that belongs to it in a transaction of its own: a
/// run that writes at the same time waits for one of them at most, and after a kill some runs have gone and all others
/// are whole. `step` is called after each.
[[nodiscard]] core::Result<Pruned> prune(Database& database, const Retention& retention,
                                         const std::function<void(std::size_t done, std::size_t all)>& step);

/// What is wrong with a database: damaged pages, indexes that don't fit their tables, numbers that refer to nothing; up
/// to a hundred lines. Empty: nothing.
[[nodiscard]] core::Result<std::vector<std::string>> find_damage(Database& database);

/// Gives the pages that nothing uses back to the file system: bytes before and after.
struct Sizes {
  std::size_t before = 0, after = 0;
};
[[nodiscard]] core::Result<Sizes> vacuum(Database& database);

}  // namespace assay::results
