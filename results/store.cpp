#include "results/store.hpp"

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
#include <tuple>
#include <unordered_map>
#include <utility>

#include "harness/core/build_info.hpp"
#include "harness/core/owner.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "results/anchors.hpp"
#include "results/database.hpp"
#include "results/interned.hpp"
#include "results/lists.hpp"
#include "results/merge_database.hpp"
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

/// `first`: the column of the run's id.
RunInfo read_run(const Row& row, int first = 0) {
  RunInfo run;
  run.id = row.line(first);
  run.command = row.text(first + 1);
  run.suite = row.line(first + 2);
  run.started_at = row.line(first + 3);
  run.finished_at = row.line(first + 4);
  run.assay_version = row.line(first + 5);
  run.planned = static_cast<std::size_t>(row.integer(first + 6));
  run.settings = row.text(first + 12);
  run.machine = {row.line(first + 7), row.line(first + 8), static_cast<int>(row.integer(first + 9)),
                 row.line(first + 10), row.line(first + 11)};
  return run;
}

/// What a run has verdicts of, in the order of its plan.
constexpr const char* kDoneJobs =
    "SELECT case_version.name, content.text, converter.name, version, converter_version.hash, position FROM verdict "
    "JOIN case_version ON case_version.id = case_version_id JOIN content ON content.id = options JOIN "
    "converter_version ON converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id "
    "WHERE run = ? ORDER BY position, verdict.id";

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
  return time_text(now.time_since_epoch().count());
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

  /// The programs that called themselves so: number and hash.
  Result<std::vector<std::pair<std::int64_t, std::string>>> programs_of(const std::string& converter,
                                                                        const std::string& version) {
    std::vector<std::pair<std::int64_t, std::string>> programs;
    auto status = database.query(
        "SELECT converter_version.id, hash FROM converter JOIN converter_version ON converter_id = converter.id WHERE "
        "name = ? AND version = ?",
        [&](const Row& row) { programs.emplace_back(row.integer(0), row.text(1)); }, converter, version);
    if (!status) return status.error();
    return programs;
  }

  Result<std::int64_t> run_number(const std::string& run) {
    const auto number = database.number("SELECT number FROM run WHERE id = ?", run);
    if (!number) return number.error();
    if (*number) return **number;
    return Error{ErrorKind::internal, fmt::format("results: there is no run {}", run), "", "", ""};
  }

  Status insert_job(std::int64_t run, const JobKey& key, std::string_view state, std::int64_t position) {
    return database.run("INSERT OR IGNORE INTO open_job VALUES (?,?,?,?,?,?,?,?)", run, key.case_name, key.options,
                        key.converter, key.version, key.hash, position, state);
  }

  Status start_job(std::int64_t run, const JobKey& key) {
    if (auto status = database.run(
            "UPDATE open_job SET state = 'started' WHERE run = ? AND case_name = ? AND options = ? AND converter = ? "
            "AND version = ? AND hash = ?",
            run, key.case_name, key.options, key.converter, key.version, key.hash);
        !status) {
      return status;
    }
    if (database.changes() == 1) return core::success();
    return broken_plan(key, "was not planned in this run or is recorded already");
  }

  /// Takes a job that its verdict stands for from now on out of the open ones: its position, or nothing where it is
  /// none of them.
  Result<std::optional<std::int64_t>> close_job(std::int64_t run, const JobKey& key) {
    const auto position = database.number(
        "SELECT position FROM open_job WHERE run = ? AND case_name = ? AND options = ? AND converter = ? AND version = "
        "? AND hash = ?",
        run, key.case_name, key.options, key.converter, key.version, key.hash);
    if (!position || !*position) return position;
    if (auto status = database.run(
            "DELETE FROM open_job WHERE run = ? AND case_name = ? AND options = ? AND converter = ? AND version = ? "
            "AND hash = ?",
            run, key.case_name, key.options, key.converter, key.version, key.hash);
        !status) {
      return status.error();
    }
    return position;
  }

  /// The job keys of a run's verdicts with their positions in its plan.
  Result<std::map<JobKey, std::int64_t>> verdict_keys(std::int64_t run) {
    std::map<JobKey, std::int64_t> keys;
    auto status = database.query(
        kDoneJobs,
        [&](const Row& row) {
          keys[{row.raw(0), row.raw(1), row.raw(2), row.raw(3), row.raw(4)}] = row.integer(5);
        },
        run);
    if (!status) return status.error();
    return keys;
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
    const auto number = run_number(run);
    if (!number) return number.error();
    const auto position = close_job(*number, row.key);
    if (!position) return position.error();
    if (!*position) return broken_plan(row.key, "was not planned in this run or is recorded already");
    Interned interned(database);
    if (auto status = insert_result(database, interned, *number, *position, row); !status) return status;
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
  Status merge_run(const RecordedRun& from, Interned& interned, MergeCount& count) {
    const std::string& id = from.run.id;
    if (auto status = insert_run(from.run); !status) return status;
    count.runs += static_cast<std::size_t>(database.changes());
    if (auto status =
            database.run("UPDATE run SET finished_at = ? WHERE id = ? AND finished_at = ''", from.run.finished_at, id);
        !status) {
      return status;
    }
    const auto number = run_number(id);
    if (!number) return number.error();
    auto here = verdict_keys(*number);
    if (!here) return here.error();
    std::map<JobKey, std::int64_t> planned;
    std::int64_t position = 0;
    for (const JobKey& key : from.jobs.done) planned.emplace(key, position++);
    for (const auto& [list, state] : {std::pair(&from.jobs.started, "started"), {&from.jobs.waiting, "waiting"}}) {
      for (const JobKey& key : *list) {
        const std::int64_t own = position++;
        if (here->contains(key)) continue;
        if (auto status = insert_job(*number, key, state, own); !status) return status;
      }
    }
    for (const ResultRow& row : from.results) {
      if (here->contains(row.key)) continue;
      auto own = close_job(*number, row.key);
      if (!own) return own.error();
      const auto plan = planned.find(row.key);
      if (!*own && plan != planned.end()) *own = plan->second;
      if (!*own) return broken_plan(row.key, "was not planned in this run or is recorded already");
      if (auto status = insert_result(database, interned, *number, *own, row); !status) return status;
      here->emplace(row.key, **own);
      ++count.results;
    }
    // Said to be done, and nothing came of it: it is to be done again.
    for (const auto& [key, own] : planned) {
      if (here->contains(key)) continue;
      if (auto status = insert_job(*number, key, "waiting", own); !status) return status;
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
  if (auto status = database->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = "
                                      "MEMORY; PRAGMA cache_size = -32768");
      !status) {
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
  const auto number = state_->run_number(run.id);
  if (!number) return number.error();
  std::int64_t position = 0;
  for (const JobKey& key : planned) {
    if (auto status = state_->insert_job(*number, key, "waiting", position++); !status) return status.error();
  }
  const auto jobs = state_->database.number("SELECT count(*) FROM open_job WHERE run = ?", *number);
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
  const auto number = state_->run_number(run);
  return state_->explained(number ? state_->start_job(*number, key) : Status(number.error()));
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
        "SELECT (SELECT count(*) FROM verdict WHERE run = run.number) FROM run WHERE id = ? AND finished_at <> ''",
        run);
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
      std::string(kRunColumns) + "WHERE finished_at = '' AND suite = ? ORDER BY run.number DESC";
  std::vector<RunInfo> found;
  auto status = state_->database.query(
      sql.c_str(), [&](const Row& row) { found.push_back(read_run(row)); }, suite);
  if (!status) return status.error();
  return found;
}

Result<Store::Progress> Store::progress(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  Progress progress;
  const Snapshot snapshot(state_->database);
  const auto number = state_->database.number("SELECT number FROM run WHERE id = ?", run);
  if (!snapshot.begun() || !number) return snapshot.begun() ? number.error() : snapshot.begun().error();
  if (!*number) return progress;
  auto status = state_->database.query(
      kDoneJobs, [&](const Row& row) { progress.done.push_back(read_key(row)); }, *number);
  if (!status) return status.error();
  status = state_->database.query(
      "SELECT case_name, options, converter, version, hash, state FROM open_job WHERE run = ? ORDER BY position",
      [&](const Row& row) { (row.raw(5) == "started" ? progress.started : progress.waiting).push_back(read_key(row)); },
      *number);
  if (!status) return status.error();
  return progress;
}

Result<std::vector<ResultRow>> Store::results(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return read_results(state_->database, run);
}

Status Store::each_result(const std::string& run, const std::function<void(std::int64_t id, ResultRow row)>& take) {
  const std::scoped_lock lock(state_->mutex);
  return results::each_result(state_->database, run, take);
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
  static const std::string sql = std::string(kRunColumns) + "ORDER BY run.number";
  std::vector<RunInfo> runs;
  auto status = state_->database.query(sql.c_str(), [&](const Row& row) { runs.push_back(read_run(row)); });
  if (!status) return status.error();
  return runs;
}

Result<std::vector<std::string>> Store::case_names() {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> names;
  auto status = state_->database.query("SELECT DISTINCT name FROM case_version ORDER BY name",
                                       [&](const Row& row) { names.push_back(row.line(0)); });
  if (!status) return status.error();
  return names;
}

Result<std::vector<Store::HistoryRow>> Store::history(const std::string& case_pattern) {
  const std::scoped_lock lock(state_->mutex);
  Database& database = state_->database;
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun().error();
  std::map<std::int64_t, RunInfo> runs;
  std::vector<std::int64_t> cases;
  static const std::string sql = std::string(kRunColumns).insert(7, "number, ");
  auto status = database.query(sql.c_str(), [&](const Row& row) { runs.emplace(row.integer(0), read_run(row, 1)); });
  if (!status) return status.error();
  status = database.query("SELECT id, name FROM case_version", [&](const Row& row) {
    if (core::glob_match(case_pattern, row.text(1))) cases.push_back(row.integer(0));
  });
  if (!status) return status.error();
  struct Place {
    std::int64_t run, position, id;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (const std::int64_t each : cases) {
    status = database.query(
        "SELECT run, position, id FROM verdict WHERE case_version_id = ?",
        [&](const Row& row) {
          places.push_back({row.integer(0), row.integer(1), row.integer(2)});
        },
        each);
    if (!status) return status.error();
  }
  std::ranges::sort(places);
  std::vector<HistoryRow> rows;
  ResultReader reader(database);
  for (const Place& place : places) {
    auto result = reader.read(place.id, Children::all);
    if (!result) return result.error();
    const auto run = runs.find(place.run);
    if (run == runs.end()) {
      return database.dangling(fmt::format("verdict {} is of run {}, which is missing", place.id, place.run));
    }
    rows.push_back({run->second, *std::move(result)});
  }
  return rows;
}

Result<std::map<JobKey, double>> Store::durations() {
  const std::scoped_lock lock(state_->mutex);
  std::map<JobKey, double> seconds;
  auto status = state_->database.query(
      "SELECT case_version.name, content.text, converter.name, converter_version.version, seconds FROM verdict CROSS "
      "JOIN case_version ON case_version.id = case_version_id CROSS JOIN content ON content.id = options CROSS JOIN "
      "converter_version ON converter_version.id = converter_version_id CROSS JOIN converter ON converter.id = "
      "converter_id ORDER BY verdict.id",
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
  const Snapshot snapshot(state_->database);
  if (!snapshot.begun()) return snapshot.begun().error();
  return read_anchors(state_->database);
}

Result<std::vector<AnchorRow>> Store::anchors_of_version(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  const Snapshot snapshot(state_->database);
  if (!snapshot.begun()) return snapshot.begun().error();
  return read_anchors_of_version(state_->database, converter, version);
}

Result<std::vector<ResultRow>> Store::newest_results(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  const Snapshot snapshot(state_->database);
  if (!snapshot.begun()) return snapshot.begun().error();
  return read_newest_results(state_->database, converter, version);
}

Result<std::vector<std::string>> Store::newest_programs(const std::string& converter, const std::string& version) {
  const std::scoped_lock lock(state_->mutex);
  const auto programs = state_->programs_of(converter, version);
  if (!programs) return programs.error();
  std::optional<std::int64_t> run, newest;
  for (const auto& [id, hash] : *programs) {
    auto status = state_->database.query(
        "SELECT id, run FROM verdict WHERE converter_version_id = ? ORDER BY id DESC LIMIT 1",
        [&](const Row& row) {
          if (newest && row.integer(0) < *newest) return;
          newest = row.integer(0);
          run = row.integer(1);
        },
        id);
    if (!status) return status.error();
  }
  std::vector<std::pair<std::int64_t, std::string>> last;  // verdict of the newest run, and hash
  for (const auto& [id, hash] : *programs) {
    if (!run) break;
    if (programs->size() == 1) return std::vector{hash};
    const auto own = state_->database.number(
        "SELECT max(id) FROM verdict WHERE run = ? AND converter_version_id = ? HAVING count(*) > 0", *run, id);
    if (!own) return own.error();
    if (*own) last.emplace_back(**own, hash);
  }
  std::ranges::sort(last);
  std::vector<std::string> hashes;
  for (auto& [id, hash] : last) hashes.push_back(std::move(hash));
  return hashes;
}

std::size_t Store::NewestVerdicts::Version::verdicts() const {
  std::size_t count = 0;
  for (const Alike& each : alike) count += each.cases.size();
  return count;
}

Result<Store::NewestVerdicts> Store::newest_verdicts(const std::string& converter) {
  const std::scoped_lock lock(state_->mutex);
  Database& database = state_->database;
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun().error();
  NewestVerdicts newest;
  std::unordered_map<std::int64_t, std::uint32_t> versions, cases;  // places, by numbers of the database
  std::unordered_map<std::string, std::uint32_t> case_places;
  auto status = database.query("SELECT id, name FROM case_version", [&](const Row& row) {
    const auto [place, added] = case_places.try_emplace(row.line(1), static_cast<std::uint32_t>(newest.cases.size()));
    if (added) newest.cases.push_back(place->first);
    cases.emplace(row.integer(0), place->second);
  });
  if (!status) return status.error();
  std::vector<std::tuple<std::string, std::string, std::int64_t>> programs;
  status = database.query(
      "SELECT name, version, converter_version.id FROM converter JOIN converter_version ON converter_id = converter.id "
      "WHERE ? IN ('', name) AND EXISTS (SELECT 1 FROM verdict WHERE converter_version_id = converter_version.id)",
      [&](const Row& row) { programs.emplace_back(row.line(0), row.line(1), row.integer(2)); }, converter);
  if (!status) return status.error();
  std::ranges::sort(programs, [](const auto& a, const auto& b) {
    if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
    return core::version_less(std::get<1>(a), std::get<1>(b));
  });
  for (const auto& [name, version, number] : programs) {
    const bool same = !newest.versions.empty() && newest.versions.back().converter == name &&
                      newest.versions.back().version == version;
    if (!same) newest.versions.push_back({name, version, {}});
    versions.emplace(number, static_cast<std::uint32_t>(newest.versions.size() - 1));
  }
  struct Point {
    std::uint32_t version, name;
    std::int64_t options, id, outcome, coverage, unjudged;
    [[nodiscard]] auto series() const { return std::tuple(version, name, options); }
  };
  std::vector<Point> points;
  std::int64_t known = -1;
  std::optional<std::uint32_t> version;
  std::optional<std::int64_t> nameless;  // a verdict of no case
  status = database.query(
      "SELECT converter_version_id, case_version_id, options, id, outcome_id, ifnull(coverage, 0), ifnull(unjudged, 0) "
      "FROM verdict",
      [&](const Row& row) {
        if (const std::int64_t number = row.integer(0); number != known) {  // those of a run lie together
          const auto place = versions.find(number);
          version = place == versions.end() ? std::nullopt : std::optional(place->second);
          known = number;
        }
        if (!version) return;
        const auto name = cases.find(row.integer(1));
        if (name == cases.end()) {
          nameless = row.integer(3);
          return;
        }
        points.push_back(
            {*version, name->second, row.integer(2), row.integer(3), row.integer(4), row.integer(5), row.integer(6)});
      });
  if (!status) return status.error();
  if (nameless) return database.dangling(fmt::format("verdict {} is of a case that is missing", *nameless));
  std::ranges::sort(points, {},
                    [](const Point& point) { return std::tuple_cat(point.series(), std::tuple(point.id)); });
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> kinds;
  std::vector<std::int64_t> examples;
  std::vector<std::optional<std::size_t>> places;  // of the kinds in the version at hand
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    if (i == 0 || points[i - 1].version != point.version) places.assign(places.size(), std::nullopt);
    if (i + 1 < points.size() && points[i + 1].series() == point.series()) continue;  // a newer one follows
    const auto [kind, added] =
        kinds.try_emplace(std::tuple(point.outcome, point.coverage, point.unjudged), examples.size());
    if (added) {
      examples.push_back(point.id);
      places.emplace_back();
    }
    std::vector<Alike>& of_version = newest.versions[point.version].alike;
    auto& place = places[kind->second];
    if (!place) {
      place = of_version.size();
      of_version.push_back({kind->second, {}});
    }
    of_version[*place].cases.push_back(point.name);
  }
  ResultReader reader(database);
  for (const std::int64_t id : examples) {
    auto row = reader.read(id, Children::parameters);
    if (!row) return row.error();
    newest.kinds.push_back(*std::move(row));
  }
  return newest;
}

Status Store::walk_back(const ResultRow& of, const std::vector<std::string>& versions,
                        const std::function<bool(const std::string& version, const ResultRow*)>& take) {
  const std::scoped_lock lock(state_->mutex);
  const Snapshot snapshot(state_->database);
  if (!snapshot.begun()) return snapshot.begun();
  std::optional<std::int64_t> case_version, options;
  auto status = state_->database.query(
      "SELECT case_version.id, content.id FROM case_version JOIN content WHERE name = ? AND case_version.hash = ? AND "
      "content.hash = ? AND text = ?",
      [&](const Row& row) {
        case_version = row.integer(0);
        options = row.integer(1);
      },
      of.key.case_name, of.case_hash, text_hash(of.key.options), of.key.options);
  if (!status || !case_version) return status;
  ResultReader reader(state_->database);
  std::string before;
  for (std::size_t v = versions.size(); v-- > 0;) {
    std::int64_t newest = -1;
    std::string what;  // all that drift compares
    const auto programs = state_->programs_of(of.key.converter, versions[v]);
    if (!programs) return programs.error();
    for (const auto& [program, hash] : *programs) {
      status = state_->database.query(
          "SELECT verdict.id, outcome_id, ifnull(margin, ''), ifnull(sqnr_db, ''), ifnull(parameters, '') FROM verdict "
          "INDEXED BY verdict_by_series JOIN verdict_more ON verdict_more.id = verdict.id WHERE case_version_id = ? "
          "AND "
          "options = ? AND converter_version_id = ? ORDER BY verdict.id DESC LIMIT 1",
          [&](const Row& row) {
            if (row.integer(0) < newest) return;
            newest = row.integer(0);
            what = fmt::format("{}|{}|{}|{}", row.raw(1), row.real(2), row.real(3), row.raw(4));
          },
          case_version, options, program);
      if (!status) return status;
    }
    if (newest < 0) continue;
    if (what == before) {
      if (!take(versions[v], nullptr)) break;
      continue;
    }
    const auto row = reader.read(newest, Children::parameters);
    if (!row) return row.error();
    if (!take(versions[v], &*row)) break;
    before = what;
  }
  return core::success();
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
  const auto programs = state_->programs_of(converter, version);
  if (!programs) return programs.error();
  std::optional<KnownProgram> known;
  std::int64_t newest = -1;
  for (const auto& program : *programs) {
    // CROSS JOIN keeps the order: from the program's newest verdict back, which soon ends.
    auto status = state_->database.query(
        "SELECT verdict.id, run.id, run.started_at FROM verdict CROSS JOIN run ON run.number = run WHERE "
        "converter_version_id = ? AND run.id <> ? AND run.command NOT LIKE '% --fault %' AND run.command NOT LIKE "
        "'% --variant %' ORDER BY verdict.id DESC LIMIT 1",
        [&](const Row& row) {
          if (row.integer(0) < newest) return;
          newest = row.integer(0);
          known = KnownProgram{program.second, row.text(1), row.text(2)};
        },
        program.first, run);
    if (!status) return status.error();
  }
  if (known && known->hash.empty()) known.reset();
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
          state_->database.run("DELETE FROM change WHERE result_id IN (SELECT verdict.id FROM run JOIN verdict ON "
                               "verdict.run = run.number WHERE run.id = ?)",
                               run);
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
  Interned interned(state_->database);
  for (const RecordedRun& run : runs) {
    if (auto status = state_->merge_run(run, interned, count); !status) return of_elsewhere(status.error());
  }
  if (auto status = state_->merge_accepted(runs); !status) return of_elsewhere(status.error());
  if (auto status = transaction.commit(); !status) return status.error();
  if (auto status = state_->in_place(); !status) return status.error();
  return count;
}

Result<Store::MergeCount> Store::merge_database(const std::filesystem::path& theirs) {
  const std::scoped_lock lock(state_->mutex);
  auto count = results::merge_database(state_->database, theirs);
  if (!count) return of_elsewhere(count.error());
  if (auto status = state_->in_place(); !status) return status.error();
  return count;
}

Result<Pruned> Store::plan_prune(const Retention& retention) {
  const std::scoped_lock lock(state_->mutex);
  // A plan needs a table of its own, also in the copy of a file that can't be written.
  if (auto status = state_->database.execute("PRAGMA query_only = OFF"); !status) return status.error();
  return results::plan_prune(state_->database, retention);
}

Result<Pruned> Store::prune(const Retention& retention,
                            const std::function<void(std::size_t done, std::size_t all)>& step) {
  const std::scoped_lock lock(state_->mutex);
  return results::prune(state_->database, retention, [&](std::size_t done, std::size_t all) {
    if (step) step(done, all);
  });
}

Result<std::vector<std::string>> Store::find_damage() {
  const std::scoped_lock lock(state_->mutex);
  return results::find_damage(state_->database);
}

Result<Sizes> Store::vacuum() {
  const std::scoped_lock lock(state_->mutex);
  return results::vacuum(state_->database);
}

Status Store::back_up(const std::filesystem::path& file) {
  const std::scoped_lock lock(state_->mutex);
  return state_->database.copy_to(file);
}

Status Store::each_newest(const std::string& converter, const std::string& version,
                          const std::function<void(const std::string& run, ResultRow row)>& take) {
  const std::scoped_lock lock(state_->mutex);
  Database& database = state_->database;
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun();
  const auto ids = newest_ids(database, converter, version);
  if (!ids) return ids.error();
  ResultReader reader(database);
  for (const std::int64_t id : *ids) {
    std::string run;
    auto status = database.query(
        "SELECT run.id FROM verdict JOIN run ON run.number = run WHERE verdict.id = ?",
        [&](const Row& row) { run = row.line(0); }, id);
    if (!status) return status;
    auto row = reader.read(id, Children::all);
    if (!row) return row.error();
    take(run, *std::move(row));
  }
  return core::success();
}

Result<std::map<std::string, Store::JobCounts>> Store::job_counts(const std::vector<std::string>& converters) {
  const std::scoped_lock lock(state_->mutex);
  Database& database = state_->database;
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun().error();
  std::map<std::string, JobCounts> counts;
  const auto wanted = [&](const std::string& name) {
    return converters.empty() || std::ranges::find(converters, name) != converters.end();
  };
  Status status = core::success();
  if (converters.empty()) {
    status = database.query(
        "SELECT run.id, n FROM run JOIN (SELECT run AS own, count(*) AS n FROM verdict GROUP BY run) "
        "ON own = number",
        [&](const Row& row) { counts[row.line(0)].done = static_cast<std::size_t>(row.integer(1)); });
  } else {
    status = database.query(
        "SELECT run.id, name, n FROM run JOIN (SELECT run AS own, converter_version_id AS program, count(*) AS n FROM "
        "verdict GROUP BY run, converter_version_id) ON own = number JOIN converter_version ON converter_version.id = "
        "program JOIN converter ON converter.id = converter_id",
        [&](const Row& row) {
          if (wanted(row.line(1))) counts[row.line(0)].done += static_cast<std::size_t>(row.integer(2));
        });
  }
  if (!status) return status.error();
  status = database.query(
      "SELECT run.id, converter, state, count(*) FROM open_job JOIN run ON number = run GROUP BY run, converter, state",
      [&](const Row& row) {
        if (!wanted(row.line(1))) return;
        JobCounts& of_run = counts[row.line(0)];
        (row.raw(2) == "started" ? of_run.started : of_run.waiting) += static_cast<std::size_t>(row.integer(3));
      });
  if (!status) return status.error();
  return counts;
}

}  // namespace assay::results
