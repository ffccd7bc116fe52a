#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/run/chunks.hpp"
#include "harness/run/runner.hpp"
#include "results/machine.hpp"
#include "results/store.hpp"

namespace assay::run {

/// A run that several machines do in chunks: `assay plan` writes it, `assay work` does a chunk of it, `assay merge`
/// puts the chunks into a database. A folder holds it with its results files.
struct WorkPlan {
  results::RunInfo run;  ///< what the merged run is recorded as; its machine is the one that planned
  std::string request;   ///< what was asked for, as JSON: the command line makes its RunConfig of it again
  int jobs = 0;          ///< cases that a chunk converts at a time; 0: one per core
  std::vector<RunProgram> programs;
  std::vector<corpus::ExpectedFailure> expected;  ///< those that the run can be held to
  bool complete = true;                           ///< no option set or case of the suites was left out

  /// Programs that need the same of a machine.
  struct Kind {
    std::vector<std::size_t> programs;
    bool gpu = false;
    int workers = 0;  ///< most processes at a time, on all machines together; 0: any number
    std::vector<std::string> licences;
  };
  std::vector<Kind> kinds;
  std::size_t chunk_count = 0;
  std::vector<Chunk> chunks;

  /// An item, as far as merging has to know it.
  struct Item {
    std::string name, hash;  ///< of the case; the first digits of its content's
    std::size_t shape = 0;
  };
  /// Under which option sets and by which programs items run: many have the same.
  struct Shape {
    std::vector<std::string> options;
    std::vector<std::size_t> programs;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  std::vector<Shape> shapes;
  std::vector<Item> items;
};

/// Every verdict of the plan in the order of the run, as make_plan() has it.
[[nodiscard]] std::vector<results::JobKey> jobs_of(const WorkPlan& plan);
/// Those of one chunk.
[[nodiscard]] std::vector<results::JobKey> jobs_of(const WorkPlan& plan, const Chunk& chunk);
/// How many it has.
[[nodiscard]] std::size_t verdicts_of(const WorkPlan& plan, const Chunk& chunk);

/// The folder of a plan and the files in it. A file in the folder stands for it.
class PlanFolder {
 public:
  explicit PlanFolder(const std::filesystem::path& given);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path plan() const { return path_ / "plan.jsonl"; }
  [[nodiscard]] std::filesystem::path results() const { return path_ / "results"; }
  /// Numbers count from 1.
  [[nodiscard]] std::filesystem::path results_of(std::size_t chunk) const;

 private:
  std::filesystem::path path_;
};

/// Errors   usage, where something is in the folder already.
[[nodiscard]] core::Status check_new(const PlanFolder& folder);
/// Makes the folder. Errors   as check_new(); io.
[[nodiscard]] core::Status write_work_plan(const WorkPlan& plan, const PlanFolder& folder);
/// Errors   usage, where there is no plan; invalid_data, where it is damaged or of another Assay's format.
[[nodiscard]] core::Result<WorkPlan> read_work_plan(const PlanFolder& folder);
/// The same without the items, and with that chunk alone: all that doing it takes, whatever the size of the plan.
/// Errors   usage too for a number beyond the chunks.
[[nodiscard]] core::Result<WorkPlan> read_work_plan(const PlanFolder& folder, std::size_t chunk);

/// The first digits of a case's content, as a plan has them.
[[nodiscard]] std::string planned_hash(const corpus::Case& test_case);

/// What one kind of machine has of all, in words, for a run that several have done.
[[nodiscard]] results::Machine combined(const std::vector<results::Machine>& machines);

}  // namespace assay::run
