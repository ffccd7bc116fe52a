#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "results/machine.hpp"
#include "results/upkeep.hpp"

namespace assay::results {

/// One planned verdict: a case under an option set by a converter version. `hash` is of the program behind that name
/// and version, "" where none is known: it tells two programs of a run apart that call themselves the same. A series
/// goes by name and version alone.
struct JobKey {
  std::string case_name, options, converter, version, hash = {};
  friend auto operator<=>(const JobKey&, const JobKey&) = default;  // NOLINT(modernize-use-nullptr): sees a 0 in it
};

struct MetricRow {
  std::string tensor, data_set, name;
  double value = 0;
};
struct ParameterRow {
  std::string tensor;
  core::QuantParams params;
};
struct PrecisionRow {
  std::string node, op, got;
};
/// One try of a request; two where the first timed out.
struct AttemptRow {
  std::string request;  ///< "describe", "convert", "execute"
  int number = 1;
  std::string outcome, reason;
  double seconds = 0;
};
/// The expected failure that a verdict was compared with (docs/cases.md).
struct ExpectationRow {
  std::string case_pattern, options, converter, versions, stage, facet, reason, url, until;
  std::optional<double> margin;
};
struct FindingRow {
  std::string stage, facet, node, op, tensor, data_set, layer, message;
  double margin = 0;
  bool amber = false;  ///< only allowed, not required: never red by itself
};

/// Nodes of one operator that a verdict covers, and how many of them were judged.
struct CoverageRow {
  std::string op;
  std::size_t nodes = 0, judged = 0;
};
/// A node that was not judged, and why.
struct UnjudgedRow {
  std::string node, op, reason;
};

/// What stands in ResultRow::judged_as before what an adapter changed.
inline constexpr std::string_view kChangedBefore = "changed before the conversion: ";

/// One verdict as it is stored. Plain words, so that results depends on nothing of the judge.
struct ResultRow {
  JobKey key;
  std::string family, case_hash;
  std::string verdict, gate, stage, facet, node, op, reason, signature, style, layers, artifact_kind;
  /// In words: whose policy a ready artifact was judged by, or behind kChangedBefore what a converter's adapter changed
  /// before the converter saw it; else empty.
  std::string judged_as;
  std::string artifact_hash;  ///< SHA-256 of the artifact's file; empty where there is none
  std::size_t artifact_bytes = 0;
  std::optional<double> margin, sqnr_db;
  /// Least share of an output's elements that a limit against the float model reaches; empty where nothing was judged.
  std::optional<double> judged_outputs;
  double seconds = 0;
  std::string started_at;  ///< UTC, ISO 8601
  std::vector<FindingRow> findings;
  std::vector<MetricRow> metrics;
  std::vector<ParameterRow> parameters;
  std::vector<PrecisionRow> precision;
  std::vector<AttemptRow> attempts;
  std::vector<CoverageRow> coverage;
  std::vector<UnjudgedRow> unjudged;
  std::optional<ExpectationRow> expectation;
  /// What a report draws beyond numbers, as JSON (harness/report/detail.hpp); empty where nothing was kept.
  std::string detail;

  [[nodiscard]] std::size_t nodes() const;         ///< of the float model
  [[nodiscard]] std::size_t judged_nodes() const;  ///< of these
};

/// How much repeated measurements of one converter version differ among themselves (results/drift.hpp).
struct Wobble {
  std::size_t repeats = 1;
  double sqnr_db = 0;       ///< standard deviation
  bool parameters = false;  ///< quantization parameters differ from run to run
};
/// A verdict that drift is judged against, because somebody accepted it.
struct AnchorRow {
  std::int64_t id = 0;              ///< 0: nobody did; the newest verdict of a version stands in
  ResultRow result;                 ///< without findings, metrics, precision and attempts
  std::string accepted_at, reason;  ///< UTC, ISO 8601
  Wobble wobble;                    ///< of the accepted version up to the accepted verdict
};
/// An acceptance by itself: which verdict of a run, when and why.
struct AcceptedRow {
  JobKey key;
  std::string accepted_at, reason;
  Wobble wobble;
  std::size_t position = 0;  ///< among all acceptances of its database, rising
};
/// A verdict of a run that differs from its anchor.
struct ChangeRow {
  JobKey key;
  std::int64_t anchor = 0;
  std::string kind;  ///< "verdict", "margin", "sqnr", "parameters"
  std::optional<double> delta;
  std::string detail;
  std::string accepted_at, reason;  ///< empty until a newer anchor of the series was accepted
};

struct RunInfo {
  std::string id;  ///< UUID; begin_run makes one where it is empty
  std::string command, suite;
  std::string settings;  ///< what its verdicts depend on, one "name: value" a line: a run is resumed with the same only
  std::string started_at, finished_at;  ///< UTC, ISO 8601; begin_run and finish_run fill in the time
  std::string assay_version;            ///< with its commit; begin_run fills in this program's
  std::size_t planned = 0;              ///< jobs; begin_run counts them
  Machine machine;                      ///< begin_run fills in this one
};

/// Now, as "2026-01-31T12:00:00.123Z".
[[nodiscard]] std::string utc_now();

/// A random one (version 4).
[[nodiscard]] std::string new_uuid();

/// The results database. One writer: the parent process; calls from its threads take turns. Every
/// call is its own transaction, so that a kill at any moment loses nothing that a call has returned from. A failure of
/// the system's power leaves the file whole; it takes with it at most the verdicts and begun jobs since the last beat.
/// What writes a run fails (internal) once the file is no longer where it was opened: nobody would ever find what is
/// written then.
class Store {
 public:
  /// Opens or creates; migrates older schemas; refuses newer ones and files that are no database of Assay's, untouched.
  /// One that can't be written is read into memory; what would write it then fails.
  [[nodiscard]] static core::Result<Store> open(const std::filesystem::path& file);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// The run belongs to this process until finish_run() or release_run(), or until the process ends.
  [[nodiscard]] core::Result<std::string> begin_run(const RunInfo& info, const std::vector<JobKey>& planned);
  /// Makes this process the owner of an unfinished run that no other process is at. Of an owner that can't be seen from
  /// here (another machine, another container) it waits for a sign of life, for some seconds.
  /// Errors   usage, while another process is at it, naming it.
  [[nodiscard]] core::Status claim_run(const std::string& run);
  /// A sign of life of the owner, to be given every kBeat; what was recorded before it outlives a failure of the power.
  /// Errors   internal, where the run is another process's by now, or the database is no longer where it was.
  [[nodiscard]] core::Status beat(const std::string& run);
  static constexpr std::chrono::milliseconds kBeat{800};
  /// The run is nobody's any more, and still unfinished.
  [[nodiscard]] core::Status release_run(const std::string& run);
  /// Marks a job as started, so that a killed run knows which one it held.
  [[nodiscard]] core::Status job_started(const std::string& run, const JobKey& key);
  /// Stores a verdict with all that belongs to it and marks its job as done.
  /// Errors   internal, for a job that was not planned or is recorded already; nothing is written then.
  [[nodiscard]] core::Status record(const std::string& run, const ResultRow& row);
  /// Errors   internal, where a reader of the file doesn't find the finished run with all its verdicts.
  [[nodiscard]] core::Status finish_run(const std::string& run);

  /// The unfinished runs of a selection, newest first, for --resume.
  [[nodiscard]] core::Result<std::vector<RunInfo>> unfinished_runs(const std::string& suite);
  /// Planned jobs of a run by state: done, started but never recorded (killed), not started.
  struct Progress {
    std::vector<JobKey> done, started, waiting;
  };
  [[nodiscard]] core::Result<Progress> progress(const std::string& run);
  /// Verdicts of a run in the order of its plan.
  [[nodiscard]] core::Result<std::vector<ResultRow>> results(const std::string& run);
  /// Hands every verdict of a run to `take` in the order of its plan, one at a time and with all that belongs to it:
  /// for whoever reads a database of any size. `id` is its number in this database.
  [[nodiscard]] core::Status each_result(const std::string& run,
                                         const std::function<void(std::int64_t id, ResultRow row)>& take);
  /// All runs, oldest first: in the order in which they came into this database, whatever a clock said.
  [[nodiscard]] core::Result<std::vector<RunInfo>> runs();
  /// What the newest verdict of each series took, in seconds, whatever the program was; their keys have no hash.
  [[nodiscard]] core::Result<std::map<JobKey, double>> durations();
  /// The names of all cases that have verdicts, sorted.
  [[nodiscard]] core::Result<std::vector<std::string>> case_names();
  struct HistoryRow {
    RunInfo run;
    ResultRow result;
  };
  /// The series of the cases whose name matches (`*` and `?`), oldest first.
  [[nodiscard]] core::Result<std::vector<HistoryRow>> history(const std::string& case_pattern);

  /// Makes these verdicts of a run the anchors of their series: case content, options and converter. Earlier anchors
  /// stay as history; changes of these series that nobody had accepted are accepted with it, for the same reason.
  /// Errors   internal, for a verdict that the run doesn't have; nothing is accepted then.
  [[nodiscard]] core::Status accept(const std::string& run, const std::vector<JobKey>& keys, const std::string& reason);
  /// The anchor of every series that was accepted last: in the order in which acceptances came into this database,
  /// whatever a clock said.
  [[nodiscard]] core::Result<std::vector<AnchorRow>> anchors();
  /// What was accepted of one version of a converter, its newest verdict where nothing was.
  [[nodiscard]] core::Result<std::vector<AnchorRow>> anchors_of_version(const std::string& converter,
                                                                        const std::string& version);
  /// The newest verdict of every series by one version of a converter, as AnchorRow holds them.
  [[nodiscard]] core::Result<std::vector<ResultRow>> newest_results(const std::string& converter,
                                                                    const std::string& version);
  /// The hashes of the programs that were this version of a converter in its newest run: several where a run had
  /// several that call themselves the same. newest_results() has the last one's verdicts.
  [[nodiscard]] core::Result<std::vector<std::string>> newest_programs(const std::string& converter,
                                                                       const std::string& version);
  /// The newest verdict of each case and option set by each version of a converter, counted: for tables over a database
  /// of any size.
  struct Alike {
    std::size_t kind = 0;              ///< of NewestVerdicts::kinds
    std::vector<std::uint32_t> cases;  ///< of NewestVerdicts::cases: the case of each verdict
  };
  struct NewestVerdicts {
    std::vector<ResultRow> kinds;    ///< what verdicts share: their words, coverage and nodes not judged
    std::vector<std::string> cases;  ///< names
    struct Version {
      std::string converter, version;
      std::vector<Alike> alike;
      [[nodiscard]] std::size_t verdicts() const;
    };
    std::vector<Version> versions;  ///< by converter, oldest version first
  };
  /// `converter`: "" for all.
  [[nodiscard]] core::Result<NewestVerdicts> newest_verdicts(const std::string& converter);
  /// Hands the newest verdict of each case and option set by one version to `take`, with all that belongs to it and its
  /// run's id.
  [[nodiscard]] core::Status each_newest(const std::string& converter, const std::string& version,
                                         const std::function<void(const std::string& run, ResultRow row)>& take);
  struct JobCounts {
    std::size_t done = 0, started = 0, waiting = 0;
  };
  /// The jobs of every run by its id; of some converters alone, where any is named.
  [[nodiscard]] core::Result<std::map<std::string, JobCounts>> job_counts(const std::vector<std::string>& converters);
  /// Hands the newest verdict of a verdict's series by each of `versions` (oldest first) to `take`, from the last one
  /// back, until it says false. nullptr: as the one before, measured numbers and parameters included.
  [[nodiscard]] core::Status walk_back(const ResultRow& of, const std::vector<std::string>& versions,
                                       const std::function<bool(const std::string& version, const ResultRow*)>& take);
  /// The versions of a converter that have verdicts, oldest version first.
  [[nodiscard]] core::Result<std::vector<std::string>> versions(const std::string& converter);
  /// The program behind a converter version in its newest verdict outside `run`; nothing where there is none or its
  /// hash was not recorded. Runs that switch on a fault or variant don't count: that is the same program.
  struct KnownProgram {
    std::string hash, run, started_at;
  };
  [[nodiscard]] core::Result<std::optional<KnownProgram>> known_program(const std::string& converter,
                                                                        const std::string& version,
                                                                        const std::string& run);
  /// All that was ever accepted of a run, oldest first.
  [[nodiscard]] core::Result<std::vector<AcceptedRow>> accepted(const std::string& run);
  /// Records in what a run's verdicts differ from their anchors, instead of what was recorded of it before.
  [[nodiscard]] core::Status record_changes(const std::string& run, const std::vector<ChangeRow>& changes);
  [[nodiscard]] core::Result<std::vector<ChangeRow>> changes(const std::string& run);

  /// What `assay score` measured of Assay itself, oldest first; `json` is what it prints with --json.
  struct ScoreRow {
    std::string command, made_at, json;
  };
  [[nodiscard]] core::Status record_score(const std::string& command, const std::string& json);
  [[nodiscard]] core::Result<std::vector<ScoreRow>> scores();

  /// The machine of a run, where others have done parts of it meanwhile.
  [[nodiscard]] core::Status set_machine(const std::string& run, const Machine& machine);

  /// A run with all that is recorded of it, but for changes: comparing again finds them.
  struct RecordedRun {
    RunInfo run;
    Progress jobs;
    std::vector<ResultRow> results;
    std::vector<AcceptedRow> accepted;
  };
  [[nodiscard]] core::Result<RecordedRun> recorded(const RunInfo& run);
  struct MergeCount {
    std::size_t runs = 0;     ///< that were new
    std::size_t results = 0;  ///< likewise
  };
  /// Adds runs from elsewhere, all or none. What is here already stays as it is; a run that was unfinished here takes
  /// the end it has there. Acceptances come after those that are here, in the order that they had there.
  /// Errors   invalid_data, for a verdict or an acceptance that no job of its run planned.
  [[nodiscard]] core::Result<MergeCount> merge(const std::vector<RecordedRun>& runs);
  /// Adds all runs of another database file of this schema, which nobody writes to: what merge() does, much faster.
  [[nodiscard]] core::Result<MergeCount> merge_database(const std::filesystem::path& theirs);

  /// What prune() would delete (results/upkeep.hpp).
  [[nodiscard]] core::Result<Pruned> plan_prune(const Retention& retention);
  [[nodiscard]] core::Result<Pruned> prune(const Retention& retention,
                                           const std::function<void(std::size_t done, std::size_t all)>& step = {});
  /// What is wrong with the file; empty: nothing.
  [[nodiscard]] core::Result<std::vector<std::string>> find_damage();
  [[nodiscard]] core::Result<Sizes> vacuum();
  /// Writes the state that the database has now as one file, while others write to it.
  [[nodiscard]] core::Status back_up(const std::filesystem::path& file);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::results
