#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/evaluate.hpp"
#include "results/drift.hpp"
#include "results/store.hpp"

namespace assay::run {

/// A case with the option sets it is run under.
struct RunItem {
  corpus::Case test_case;
  std::vector<corpus::OptionSet> option_sets;
  std::optional<data::UserData> data;  ///< replaces the case's generated data
};

/// A program that took part in a run.
struct RunProgram {
  std::string name, version;  ///< as it calls itself
  std::string hash;           ///< program_hash(), "" where none is known
  std::vector<std::string> command;
  /// The newest other run by this name and version, where that was by a program with another hash.
  std::optional<results::Store::KnownProgram> changed_since;
  std::vector<std::string> notes = {};  ///< what is wrong with how it describes itself
  std::string unavailable = {};         ///< why nothing can be asked of it on this machine; "": it can
};

/// A part of the items of a run: a shard, or a chunk of a plan (work_plan.hpp).
struct Part {
  std::string name;                ///< "shard 2/4", for the record
  std::vector<std::size_t> items;  ///< numbers of items, in the order in which they are begun
};
/// Part `shard` of `shards`: every shards-th item, from the shard's on. 1 <= shard <= shards.
[[nodiscard]] Part shard_of(std::size_t items, int shard, int shards);

struct RunConfig {
  std::string suite;           ///< what was selected, as text: resuming looks for the same
  std::string command;         ///< the command line, for the record
  std::vector<RunItem> items;  ///< in stable order
  std::vector<programs::ConverterSpec> converters;
  std::vector<corpus::ExpectedFailure> expected_failures;
  bool partial = false;            ///< option sets of the suites were left out: not every expected failure can be met
  std::filesystem::path artifact;  ///< judge this Q/DQ model against each item, with no converter; empty: convert
  MadeBy made_by;                  ///< whose policy `artifact` is judged by
  /// Audit parameters only (assay audit): `artifact`, or this table where that is empty.
  std::optional<converters::CalibrationTable> audit;
  bool require_judged = false;  ///< `unjudged` is red, whoever converted
  bool own_corpus = false;      ///< the cases are ours: `unjudged` is red where the embedded converter ran them
  DetailKept detail;            ///< what reports can draw of verdicts
  bool every_node = false;      ///< each node's local error too, as metrics
  std::filesystem::path database;
  int jobs = 0;                          ///< cases converted at a time, each by processes of its own; 0: one per core
  double timeout_s = 60;                 ///< for one answer of a converter
  std::uint64_t memory_limit_bytes = 0;  ///< address space of a converter's process, 0: none
  double judge_timeout_s = 0;            ///< for judging one verdict, 0: ten times timeout_s
  std::uint64_t judge_memory_bytes = 0;  ///< of a process that judges, 0: four fifths of what there is
  /// Only these of `items`; the rest counts where limits are shared among a run's verdicts.
  std::optional<Part> part;
  std::size_t whole_verdicts = 0;  ///< of the run that `part` is of; 0: those of all `items` by `converters`
  bool resume = false;
  std::string run_id;  ///< UUID of the run; "": a new one
  /// Asked once the converters have said what they are: the run begins only where this is a success. Empty: it begins.
  std::function<core::Status(const std::vector<RunProgram>& programs)> check_programs;
  /// How often the run was asked to stop. Once: nothing else is begun, and what is under way has half a second to come
  /// to its end; twice: it ends at once. It can be resumed. Empty: never.
  std::function<int()> stops;
  /// Called once, before the first verdict.
  std::function<void(const std::vector<RunProgram>& programs, std::size_t planned)> on_begun;
  /// Called after each verdict is in the database.
  std::function<void(const results::ResultRow& row, std::size_t done, std::size_t planned)> on_result;
};

struct RunReport {
  std::string run;  ///< UUID
  std::vector<RunProgram> programs;
  std::size_t planned = 0;
  std::vector<results::ResultRow> rows;  ///< all of the run, resumed ones too, in planned order
  std::vector<std::string> unused_expectations;
  results::DriftReport drift;  ///< against the database's accepted anchors; empty where it has none
  [[nodiscard]] std::map<std::string, std::size_t> counts() const;
  /// Whether several programs of the run call themselves what this verdict's does.
  [[nodiscard]] bool shares_its_name(const results::JobKey& key) const;
};

/// Runs cases × option sets × converters in lanes (lanes.hpp): forked processes that convert and judge, while this one
/// alone writes the database and reports. To be called by a process without other threads. A crash, hang or memory
/// blow-up of a converter is the verdict of its case, and so is one of the judging. A run that was stopped stays
/// unfinished, and its report has fewer rows than planned. An empty selection is a report with nothing planned, and no
/// run in the database. Converters are told apart by their commands, whatever they call themselves. A run is resumed
/// only with what it was begun with, and by one process at a time.
/// Errors   usage, for a file that is no history, a converter that is named twice, a run that can't be resumed; io, for
///          the database; internal, where that is removed meanwhile.
[[nodiscard]] core::Result<RunReport> run(const RunConfig& config);

/// What a run would do, once its converters have said what they are.
struct Planned {
  std::vector<RunProgram> programs;               ///< one for each converter of the config, in its order
  std::vector<results::JobKey> jobs;              ///< every verdict, in order
  std::vector<std::vector<std::size_t>> runners;  ///< of each item, the numbers of the programs that it runs with
  std::string settings;                           ///< settings_text()
  std::vector<corpus::ExpectedFailure> expected;  ///< those that the whole run can be held to
};
/// Nothing is run and no database is opened. Errors   as run().
[[nodiscard]] core::Result<Planned> plan(const RunConfig& config);

}  // namespace assay::run
