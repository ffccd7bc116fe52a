#include "results/store.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/core/build_info.hpp"
#include "harness/core/owner.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "results/anchors.hpp"
#include "results/database.hpp"
#include "results/migrations.hpp"
#include "results/rows.hpp"

namespace assay::results {
namespace {

using core::Error;
using core::ErrorKind;
using core::owner_name;
using core::process_state;
using core::ProcessState;
using core::Result;
using core::Status;

Error broken_plan(const JobKey& key, std::string_view what) {
  return {ErrorKind::internal,
          fmt::format("results: {} with options {} by {} {} {}", key.case_name, key.options, key.converter, key.version,
                      what),
          "", "", ""};
}

/// Runs from elsewhere that contradict themselves are bad data, and no broken assumption of ours.
Error of_elsewhere(Error error) {
  if (error.kind == ErrorKind::internal) error.kind = ErrorKind::invalid_data;
  return error;
}

constexpr const char* kRunColumns =
    "SELECT run.id, command, suite, started_at, finished_at, assay_version, planned, cpu, features, cores, system, "
    "accelerators, settings "
    "FROM run JOIN machine ON machine.id = run.machine_id ";

RunInfo read_run(const Row& row) {
  RunInfo run;
  run.id = row.line(0);
  run.command = row.text(1);
  run.suite = row.line(2);
  run.started_at = row.line(3);
  run.finished_at = row.line(4);
  run.assay_version = row.line(5);
  run.planned = static_cast<std::size_t>(row.integer(6));
  run.settings = row.text(12);
  run.machine = {row.line(7), row.line(8), static_cast<int>(row.integer(9)), row.line(10), row.line(11)};
  return run;
}

JobKey read_key(const Row& row) { return {row.line(0), row.line(1), row.line(2), row.line(3), row.line(4)}; }

}  // namespace

std::string new_uuid() {
  std::random_device device;
  const auto bits = [&] { return (std::uint64_t{device()} << 32U) | device(); };
  const std::uint64_t high = (bits() & ~std::uint64_t{0xf000}) | 0x4000U;
  const std::uint64_t low = (bits() & ~(std::uint64_t{3} << 62U)) | (std::uint64_t{1} << 63U);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xffffU, high & 0xffffU,
                     low >> 48U, low & 0xffffffffffffU);
}

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     milliseconds);
}

struct Store::State {
  State(Database opened, std::filesystem::path path) : database(std::move(opened)), file(std::move(path)) {}
  Database database;
  std::filesystem::path file;
  std::string self = core::this_process();
  std::mutex mutex;

  Status insert_machine(const Machine& m) {
    return database.run("INSERT OR IGNORE INTO machine (cpu, features, cores, system) VALUES (?,?,?,?)", m.cpu,
                        m.features, m.cores, m.system);
  }

  Status insert_run(const RunInfo& run) {
    const Machine& m = run.machine;
    if (auto status = insert_machine(m); !status) return status;
    return database.run(
        "INSERT OR IGNORE INTO run (id, command, suite, started_at, finished_at, assay_version, planned, machine_id, "
        "accelerators, settings) SELECT ?,?,?,?,?,?,?, id, ?,? FROM machine WHERE cpu = ? AND features = ? AND cores = "
        "? AND system = ?",
        run.id, run.command, run.suite, run.started_at, run.finished_at, run.assay_version, run.planned, m.accelerators,
        run.settings, m.cpu, m.features, m.cores, m.system);
  }

  Status insert_jobs(const std::string& run, const std::vector<JobKey>& keys, std::string_view state,
                     std::size_t first_position) {
    for (const JobKey& key : keys) {
      if (auto status = database.run("INSERT OR IGNORE INTO job VALUES (?,?,?,?,?,?,?,?)", run, key.case_name,
                                     key.options, key.converter, key.version, key.hash, first_position++, state);
          !status) {
        return status;
      }
    }
    return core::success();
  }

  /// Sets the state of a planned job that is not done yet.
  Status set_job(const std::string& run, const JobKey& key, std::string_view job_state) {
    if (auto status = database.run(
            "UPDATE job SET state = ? WHERE run_id = ? AND case_name = ? AND options = ? AND converter = ? AND "
            "version = ? AND hash = ? AND state <> 'done'",
            job_state, run, key.case_name, key.options, key.converter, key.version, key.hash);
        !status) {
      return status;
    }
    if (database.changes() == 1) return core::success();
    return broken_plan(key, "was not planned in this run or is recorded already");
  }

  [[nodiscard]] Status in_place() const {
    if (database.in_place()) return core::success();
    return Error{ErrorKind::internal,
                 fmt::format("the results database {} was removed or replaced while it was written to: nothing of this "
                             "is recorded; run it again, and leave the file and its -wal alone meanwhile",
                             file.string()),
                 "", "", ""};
  }

  /// `status`, or why it is as it is where the file has gone.
  [[nodiscard]] Status explained(Status status) const {
    if (status) return status;
    Status place = in_place();
    return place ? status : place;
  }

  Status record(const std::string& run, const ResultRow& row) {
    Transaction transaction(database);
    if (!transaction.begun()) return transaction.begun();
    if (auto status = owned(run); !status) return status;
    if (auto status = set_job(run, row.key, "done"); !status) return status;
    if (auto status = insert_result(database, run, row); !status) return status;
    if (auto status = transaction.commit(); !status) return status;
    return in_place();
  }

  struct Lock {
    std::string owner;
    std::int64_t beats = 0;
  };
  Result<Lock> lock_of(const std::string& run) {
    std::optional<Lock> lock;
    auto status = database.query(
        "SELECT owner, beats FROM run WHERE id = ?",
        [&](const Row& row) {
          lock = {row.text(0), row.integer(1)};
        },
        run);
    if (!status) return status.error();
    if (lock) return *std::move(lock);
    return Error{ErrorKind::internal, fmt::format("results: there is no run {}", run), "", "", ""};
  }

  /// Errors   internal, where the run isn't this process's: another one may have taken over what looked dead.
  Status owned(const std::string& run) {
    const auto lock = lock_of(run);
    if (!lock) return lock.error();
    if (lock->owner == self) return core::success();
    return Error{ErrorKind::internal,
                 fmt::format("run {} in {} is no longer this process's: {}", run, file.string(),
                             lock->owner.empty() ? "nobody is at it" : owner_name(lock->owner) + " has taken it over"),
                 "", "", ""};
  }

  /// Gives the run to this process if it still belongs to `before`.
  Status take(const std::string& run, const std::string& before) {
    if (auto status = database.run("UPDATE run SET owner = ? WHERE id = ? AND owner = ?", self, run, before); !status) {
      return status;
    }
    return database.changes() == 1 ? core::success() : Status(under_way(run, ""));
  }

  static Error under_way(const std::string& run, const std::string& owner) {
    return {ErrorKind::usage,
            fmt::format("run {} is under way: {} is at it; wait for its end or end it, then --resume finishes the run",
                        run, owner.empty() ? "another process" : owner_name(owner)),
            "", "", ""};
  }

  /// Inside the caller's transaction.
  Status merge_run(const RecordedRun& from, MergeCount& count) {
    const std::string& id = from.run.id;
    if (auto status = insert_run(from.run); !status) return status;
    count.runs += static_cast<std::size_t>(database.changes());
    if (auto status =
            database.run("UPDATE run SET finished_at = ? WHERE id = ? AND finished_at = ''", from.run.finished_at, id);
        !status) {
      return status;
    }
    std::size_t position = 0;
    for (const auto& [list, word] :
         {std::pair(&from.jobs.done, "waiting"), {&from.jobs.started, "started"}, {&from.jobs.waiting, "waiting"}}) {
      if (auto status = insert_jobs(id, *list, word, position); !status) return status;
      position += list->size();
    }
    for (const ResultRow& row : from.results) {
      const auto known = database.number(
          "SELECT count(*) FROM job WHERE run_id = ? AND case_name = ? AND options = ? AND converter = ? AND "
          "version = ? AND hash = ? AND state = 'done'",
          id, row.key.case_name, row.key.options, row.key.converter, row.key.version, row.key.hash);
      if (!known) return known.error();
      if (known->value_or(0) > 0) continue;
      if (auto status = set_job(id, row.key, "done"); !status) return status;
      if (auto status = insert_result(database, id, row); !status) return status;
      ++count.results;
    }
    return core::success();
  }

  /// Inside the caller's transaction, once all of `runs` are there.
  Status merge_accepted(const std::vector<RecordedRun>& runs) {
    std::vector<std::pair<const std::string*, const AcceptedRow*>> all;
    for (const RecordedRun& each : runs) {
      for (const AcceptedRow& row : each.accepted) all.emplace_back(&each.run.id, &row);
    }
    // Older exports have no positions: of those the dates are all there is.
    std::ranges::stable_sort(all, {}, [](const auto& each) {
      return std::pair(each.second->position, std::string_view(each.second->accepted_at));
    });
    for (const auto& [run, row] : all) {
      if (auto status = merge_anchor(database, *run, *row); !status) return status;
    }
    return core::success();
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

namespace {

/// Whether it is there and can't be written, by itself or for the files that a writer puts beside it.
bool is_read_only(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code)) return false;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  return ::access(file.c_str(), W_OK) != 0 || ::access(folder.c_str(), W_OK) != 0;
}

}  // namespace

Result<Store> Store::open(const std::filesystem::path& file) {
  if (auto status = check_file(file); !status) return status.error();
  if (is_read_only(file)) {
    auto copy = Database::open_copy(file);
    if (!copy) return copy.error();
    if (auto status = migrate(*copy); !status) return status.error();
    if (auto status = copy->execute("PRAGMA query_only = ON"); !status) return status.error();
    return Store(std::make_unique<State>(std::move(*copy), file));
  }
  std::error_code failed;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), failed);
  if (failed) {
    return Error{ErrorKind::io,
                 fmt::format("the folder of the results database \"{}\" can't be made: {}; --db names another",
                             file.string(), failed.message()),
                 "", "", ""};
  }
  auto database = Database::open(file, Database::Mode::read_write);
  if (!database) return database.error();
  if (auto status = database->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"); !status) {
    return status.error();
  }
  if (auto status = migrate(*database); !status) return status.error();  // a table is replaced while nothing watches it
  if (auto status = database->execute("PRAGMA foreign_keys = ON"); !status) return status.error();
  return Store(std::make_unique<State>(std::move(*database), file));
}

Result<std::string> Store::begin_run(const RunInfo& info, const std::vector<JobKey>& planned) {
  const std::scoped_lock lock(state_->mutex);
  RunInfo run = info;
  if (run.id.empty()) run.id = new_uuid();
  if (run.started_at.empty()) run.started_at = utc_now();
  if (run.machine.system.empty()) run.machine = this_machine();
  if (run.assay_version.empty()) run.assay_version = fmt::format("{} ({})", core::version(), core::commit());
  run.planned = planned.size();
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun().error();
  const auto known = state_->database.number("SELECT count(*) FROM run WHERE id = ?", run.id);
  if (!known) return known.error();
  if (known->value_or(0) > 0) {
    return Error{ErrorKind::internal, fmt::format("results: run {} has begun already", run.id), "", "", ""};
  }
  if (auto status = state_->insert_run(run); !status) return status.error();
  if (auto status = state_->take(run.id, ""); !status) return status.error();
  if (auto status = state_->insert_jobs(run.id, planned, "waiting", 0); !status) return status.error();
  const auto jobs = state_->database.number("SELECT count(*) FROM job WHERE run_id = ?", run.id);
  if (!jobs) return jobs.error();
  if (static_cast<std::size_t>(jobs->value_or(0)) != planned.size()) {
    return Error{ErrorKind::internal,
                 fmt::format("results: {} jobs planned, {} of them different: a case and option set is planned twice",
                             planned.size(), jobs->value_or(0)),
                 "", "", ""};
  }
  if (auto status = transaction.commit(); !status) return status.error();
  if (auto status = state_->in_place(); !status) return status.error();
  return run.id;
}

Status Store::job_started(const std::string& run, const JobKey& key) {
  const std::scoped_lock lock(state_->mutex);
  const Undurable undurable(state_->database);
  if (auto status = state_->owned(run); !status) return state_->explained(status);
  return state_->explained(state_->set_job(run, key, "started"));
}

Status Store::record(const std::string& run, const ResultRow& row) {
  const std::scoped_lock lock(state_->mutex);
  const Undurable undurable(state_->database);
  return state_->explained(state_->record(run, row));
}

Status Store::finish_run(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  if (auto status = state_->owned(run); !status) return state_->explained(status);
  if (auto status = state_->database.run("UPDATE run SET finished_at = ?, owner = '' WHERE id = ? AND owner = ?",
                                         utc_now(), run, state_->self);
      !status) {
    return state_->explained(status);
  }
  if (auto status = state_->in_place(); !status) return status;
  // What a reader of the file finds is what counts.
  const auto verdicts = [&run](Database& database) {
    return database.number(
        "SELECT (SELECT count(*) FROM result WHERE run_id = run.id) FROM run WHERE id = ? AND finished_at <> ''", run);
  };
  auto reader = Database::open(state_->file, Database::Mode::read_only);
  const auto written = verdicts(state_->database);
  if (!written) return written.error();
  const auto found = reader ? verdicts(*reader) : Result<std::optional<std::int64_t>>(reader.error());
  if (found && *written && *found == *written) return core::success();
  return Error{ErrorKind::internal,
               fmt::format("the results database {} doesn't hold the run that was written to it ({}); run it again",
                           state_->file.string(),
                           !found    ? found.error().message
                           : !*found ? "a reader finds no such run"
                                     : fmt::format("{} of {} verdicts are there", **found, written->value_or(0))),
               "", "", ""};
}

Status Store::claim_run(const std::string& run) {
  std::unique_lock lock(state_->mutex);
  const auto before = state_->lock_of(run);
  if (!before) return before.error();
  switch (process_state(before->owner)) {
    case ProcessState::ended:
      return state_->take(run, before->owner);
    case ProcessState::runs:
      return before->owner == state_->self ? core::success() : Status(State::under_way(run, before->owner));
    case ProcessState::elsewhere:
      break;
  }
  constexpr int kMissedBeats = 10;
  constexpr std::chrono::milliseconds kLook{200};
  for (const auto end = std::chrono::steady_clock::now() + kMissedBeats * kBeat;
       std::chrono::steady_clock::now() < end;) {
    lock.unlock();
    std::this_thread::sleep_for(kLook);
    lock.lock();
    const auto after = state_->lock_of(run);
    if (!after) return after.error();
    if (after->owner != before->owner || after->beats != before->beats) return State::under_way(run, after->owner);
  }
  return state_->take(run, before->owner);
}

Status Store::beat(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  if (auto status = state_->in_place(); !status) return status;
  if (auto status =
          state_->database.run("UPDATE run SET beats = beats + 1 WHERE id = ? AND owner = ?", run, state_->self);
      !status) {
    return status;
  }
  return state_->database.changes() == 1 ? core::success() : state_->owned(run);
}

Status Store::release_run(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  if (auto status = state_->in_place(); !status) return status;
  return state_->database.run("UPDATE run SET owner = '' WHERE id = ? AND owner = ?", run, state_->self);
}

Result<std::vector<RunInfo>> Store::unfinished_runs(const std::string& suite) {
  const std::scoped_lock lock(state_->mutex);
  static const std::string sql =
      std::string(kRunColumns) + "WHERE finished_at = '' AND suite = ? ORDER BY run.rowid DESC";
  std::vector<RunInfo> found;
  auto status = state_->database.query(
      sql.c_str(), [&](const Row& row) { found.push_back(read_run(row)); }, suite);
  if (!status) return status.error();
  return found;
}

Result<Store::Progress> Store::progress(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  Progress progress;
  auto status = state_->database.query(
      "SELECT case_name, options, converter, version, hash, state FROM job WHERE run_id = ? ORDER BY position",
      [&](const Row& row) {
        const std::string state = row.text(5);
        auto& list = state == "done" ? progress.done : state == "started" ? progress.started : progress.waiting;
        list.push_back(read_key(row));
      },
      run);
  if (!status) return status.error();
  return progress;
}

Result<std::vector<ResultRow>> Store::results(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return read_results(state_->database, run);
}

Status Store::each_result(const std::string& run, const std::function<void(std::int64_t id, ResultRow row)>& take) {
  const std::scoped_lock lock(state_->mutex);
  return results::each_result(state_->database, run, "*", take);
}

Status Store::record_score(const std::string& command, const std::string& json) {
  const std::scoped_lock lock(state_->mutex);
  return state_->database.run("INSERT INTO score (command, made_at, json) VALUES (?,?,?)", command, utc_now(), json);
}

Result<std::vector<Store::ScoreRow>> Store::scores() {
  const std::scoped_lock lock(state_->mutex);
  std::vector<ScoreRow> rows;
  auto status = state_->database.query("SELECT command, made_at, json FROM score ORDER BY id", [&](const Row& row) {
    rows.push_back({row.text(0), row.text(1), row.text(2)});
  });
  if (!status) return status.error();
  return rows;
}

Result<std::vector<RunInfo>> Store::runs() {
  const std::scoped_lock lock(state_->mutex);
  static const std::string sql = std::string(kRunColumns) + "ORDER BY run.rowid";
  std::vector<RunInfo> runs;
  auto status = state_->database.query(sql.c_str(), [&](const Row& row) { runs.push_back(read_run(row)); });
  if (!status) return status.error();
  return runs;
}

Result<std::vector<Store::HistoryRow>> Store::history(const std::string& case_pattern) {
  auto all = runs();
  if (!all) return all.error();
  const std::scoped_lock lock(state_->mutex);
  std::vector<HistoryRow> rows;
  for (const RunInfo& run : *all) {
    auto results = read_results(state_->database, run.id, case_pattern);
    if (!results) return results.error();
    for (ResultRow& result : *results) rows.push_back({run, std::move(result)});
  }
  return rows;
}

Result<std::map<JobKey, double>> Store::durations() {
  const std::scoped_lock lock(state_->mutex);
  std::map<JobKey, double> seconds;
  auto status = state_->database.query(
      "SELECT case_version.name, options, converter.name, converter_version.version, seconds FROM result CROSS JOIN "
      "case_version ON case_version.id = case_version_id CROSS JOIN converter_version ON converter_version.id = "
      "converter_version_id CROSS JOIN converter ON converter.id = converter_id ORDER BY result.id",
      [&](const Row& row) {
        seconds[{row.line(0), row.line(1), row.line(2), row.line(3)}] = row.real(4);
      });
  if (!status) return status.error();
  return seconds;
}

Status Store::set_machine(const std::string& run, const Machine& machine) {
  const std::scoped_lock lock(state_->mutex);
  if (auto status = state_->insert_machine(machine); !status) return status;
  return state_->database.run(
      "UPDATE run SET accelerators = ?, machine_id = (SELECT id FROM machine WHERE cpu = ? AND features = ? AND cores "
      "= ? AND system = ?) WHERE id = ?",
      machine.accelerators, machine.cpu, machine.features, machine.cores, machine.system, run);
}

Status Store::accept(const std::string& run, const std::vector<JobKey>& keys, const std::string& reason) {
  const std::scoped_lock lock(state_->mutex);
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun();
  const std::string now = utc_now();
  for (const JobKey& key : keys) {
    if (auto status = insert_anchor(state_->database, run, key, now, reason); !status) return status;
  }
  if (auto status = transaction.commit(); !status) return status;
  return state_->in_place();
}

Result<std::vector<AnchorRow>> Store::anchors() {
  const std::scoped_lock lock(state_->mutex);
  return read_anchors(state_->database);
}

Result<std::vector<AnchorRow>> Store::anchors_of_version(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  return read_anchors_of_version(state_->database, converter, version);
}

Result<std::vector<ResultRow>> Store::newest_results(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  return read_newest_results(state_->database, converter, version);
}

Result<std::vector<std::string>> Store::newest_programs(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> hashes;
  auto status = state_->database.query(
      "WITH own AS (SELECT result.id, run_id, hash FROM converter JOIN converter_version ON converter_id = "
      "converter.id JOIN result ON converter_version_id = converter_version.id WHERE converter.name = ? AND version = "
      "?) SELECT hash FROM own WHERE run_id = (SELECT run_id FROM own ORDER BY id DESC LIMIT 1) GROUP BY hash ORDER BY "
      "max(id)",
      [&](const Row& row) { hashes.push_back(row.text(0)); }, converter, version);
  if (!status) return status.error();
  return hashes;
}

Result<std::vector<std::string>> Store::versions(const std::string& converter) {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> versions;
  auto status = state_->database.query(
      "SELECT DISTINCT version FROM converter_version JOIN converter ON converter.id = converter_id WHERE name = ?",
      [&](const Row& row) { versions.push_back(row.line(0)); }, converter);
  if (!status) return status.error();
  std::sort(versions.begin(), versions.end(), core::version_less);
  return versions;
}

Result<std::optional<Store::KnownProgram>> Store::known_program(const std::string& converter,
                                                                const std::string& version, const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  std::optional<KnownProgram> known;
  // CROSS JOIN keeps the order: from the newest verdict back, which soon ends.
  auto status = state_->database.query(
      "SELECT hash, run.id, run.started_at FROM result CROSS JOIN converter_version ON converter_version.id = "
      "converter_version_id CROSS JOIN converter ON converter.id = converter_id CROSS JOIN run ON run.id = run_id "
      "WHERE converter.name = ? AND version = ? AND run_id <> ? AND run.command NOT LIKE '% --fault %' AND run.command "
      "NOT LIKE '% --variant %' ORDER BY result.id DESC LIMIT 1",
      [&](const Row& row) {
        if (!row.text(0).empty()) known = KnownProgram{row.text(0), row.text(1), row.text(2)};
      },
      converter, version, run);
  if (!status) return status.error();
  return known;
}

Result<std::vector<AcceptedRow>> Store::accepted(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return read_accepted(state_->database, run);
}

Status Store::record_changes(const std::string& run, const std::vector<ChangeRow>& changes) {
  const std::scoped_lock lock(state_->mutex);
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun();
  if (auto status =
          state_->database.run("DELETE FROM change WHERE result_id IN (SELECT id FROM result WHERE run_id = ?)", run);
      !status) {
    return status;
  }
  for (const ChangeRow& change : changes) {
    if (auto status = insert_change(state_->database, run, change); !status) return status;
  }
  if (auto status = transaction.commit(); !status) return status;
  return state_->in_place();
}

Result<std::vector<ChangeRow>> Store::changes(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return read_changes(state_->database, run);
}

Result<Store::RecordedRun> Store::recorded(const RunInfo& run) {
  auto jobs = progress(run.id);
  if (!jobs) return jobs.error();
  auto verdicts = results(run.id);
  if (!verdicts) return verdicts.error();
  auto acceptances = accepted(run.id);
  if (!acceptances) return acceptances.error();
  return RecordedRun{run, *std::move(jobs), *std::move(verdicts), *std::move(acceptances)};
}

Result<Store::MergeCount> Store::merge(const std::vector<RecordedRun>& runs) {
  const std::scoped_lock lock(state_->mutex);
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun().error();
  MergeCount count;
  for (const RecordedRun& run : runs) {
    if (auto status = state_->merge_run(run, count); !status) return of_elsewhere(status.error());
  }
  if (auto status = state_->merge_accepted(runs); !status) return of_elsewhere(status.error());
  if (auto status = transaction.commit(); !status) return status.error();
  if (auto status = state_->in_place(); !status) return status.error();
  return count;
}

}  // namespace assay::results
