#include "results/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/core/build_info.hpp"
#include "harness/core/owner.hpp"
#include "results/anchors.hpp"
#include "results/database.hpp"
#include "results/interned.hpp"
#include "results/lists.hpp"
#include "results/merge_database.hpp"
#include "results/migrations.hpp"
#include "results/rows.hpp"
#include "results/store_state.hpp"

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

Status Store::State::insert_machine(const Machine& m) {
  return database.run("INSERT OR IGNORE INTO machine (cpu, features, cores, system) VALUES (?,?,?,?)", m.cpu,
                      m.features, m.cores, m.system);
}

Status Store::State::insert_run(const RunInfo& run) {
  const Machine& m = run.machine;
  if (auto status = insert_machine(m); !status) return status;
  return database.run(
      "INSERT OR IGNORE INTO run (id, command, suite, started_at, finished_at, assay_version, planned, machine_id, "
      "accelerators, settings) SELECT ?,?,?,?,?,?,?, id, ?,? FROM machine WHERE cpu = ? AND features = ? AND cores = "
      "? AND system = ?",
      run.id, run.command, run.suite, run.started_at, run.finished_at, run.assay_version, run.planned, m.accelerators,
      run.settings, m.cpu, m.features, m.cores, m.system);
}

Result<std::int64_t> Store::State::run_number(const std::string& run) {
  const auto number = database.number("SELECT number FROM run WHERE id = ?", run);
  if (!number) return number.error();
  if (*number) return **number;
  return Error{ErrorKind::internal, fmt::format("results: there is no run {}", run), "", "", ""};
}

Status Store::State::insert_job(std::int64_t run, const JobKey& key, std::string_view state, std::int64_t position) {
  return database.run("INSERT OR IGNORE INTO open_job VALUES (?,?,?,?,?,?,?,?)", run, key.case_name, key.options,
                      key.converter, key.version, key.hash, position, state);
}

Status Store::State::start_job(std::int64_t run, const JobKey& key) {
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

Result<std::optional<std::int64_t>> Store::State::close_job(std::int64_t run, const JobKey& key) {
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

Result<std::map<JobKey, std::int64_t>> Store::State::verdict_keys(std::int64_t run) {
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

Status Store::State::in_place() const {
  if (database.in_place()) return core::success();
  return Error{ErrorKind::internal,
               fmt::format("the results database {} was removed or replaced while it was written to: nothing of this "
                           "is recorded; run it again, and leave the file and its -wal alone meanwhile",
                           file.string()),
               "", "", ""};
}

Status Store::State::explained(Status status) const {
  if (status) return status;
  Status place = in_place();
  return place ? status : place;
}

Status Store::State::record(const std::string& run, const ResultRow& row) {
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

Result<Store::State::Lock> Store::State::lock_of(const std::string& run) {
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

Status Store::State::owned(const std::string& run) {
  const auto lock = lock_of(run);
  if (!lock) return lock.error();
  if (lock->owner == self) return core::success();
  return Error{ErrorKind::internal,
               fmt::format("run {} in {} is no longer this process's: {}", run, file.string(),
                           lock->owner.empty() ? "nobody is at it" : owner_name(lock->owner) + " has taken it over"),
               "", "", ""};
}

Status Store::State::take(const std::string& run, const std::string& before) {
  if (auto status = database.run("UPDATE run SET owner = ? WHERE id = ? AND owner = ?", self, run, before); !status) {
    return status;
  }
  return database.changes() == 1 ? core::success() : Status(under_way(run, ""));
}

Error Store::State::under_way(const std::string& run, const std::string& owner) {
  return {ErrorKind::usage,
          fmt::format("run {} is under way: {} is at it; wait for its end or end it, then --resume finishes the run",
                      run, owner.empty() ? "another process" : owner_name(owner)),
          "", "", ""};
}

Status Store::State::merge_run(const RecordedRun& from, Interned& interned, MergeCount& count) {
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

Status Store::State::merge_accepted(const std::vector<RecordedRun>& runs) {
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

Status Store::record_score(const std::string& command, const std::string& json) {
  const std::scoped_lock lock(state_->mutex);
  return state_->database.run("INSERT INTO score (command, made_at, json) VALUES (?,?,?)", command, utc_now(), json);
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

}  // namespace assay::results
