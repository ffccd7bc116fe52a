#include "results/store.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>
#include <system_error>
#include <utility>

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
using core::Result;
using core::Status;

Error broken_plan(const JobKey& key, std::string_view what) {
  return {ErrorKind::internal,
          fmt::format("results: {} with options {} by {} {} {}", key.case_name, key.options, key.converter, key.version,
                      what),
          "", "", ""};
}

/// A random UUID (version 4).
std::string new_uuid() {
  std::random_device device;
  const auto bits = [&] { return (std::uint64_t{device()} << 32U) | device(); };
  const std::uint64_t high = (bits() & ~std::uint64_t{0xf000}) | 0x4000U;
  const std::uint64_t low = (bits() & ~(std::uint64_t{3} << 62U)) | (std::uint64_t{1} << 63U);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xffffU, high & 0xffffU,
                     low >> 48U, low & 0xffffffffffffU);
}

constexpr const char* kRunColumns =
    "SELECT run.id, command, suite, started_at, finished_at, assay_version, planned, cpu, features, cores, system, "
    "accelerators "
    "FROM run JOIN machine ON machine.id = run.machine_id ";

RunInfo read_run(const Row& row) {
  RunInfo run;
  run.id = row.text(0);
  run.command = row.text(1);
  run.suite = row.text(2);
  run.started_at = row.text(3);
  run.finished_at = row.text(4);
  run.assay_version = row.text(5);
  run.planned = static_cast<std::size_t>(row.integer(6));
  run.machine = {row.text(7), row.text(8), static_cast<int>(row.integer(9)), row.text(10), row.text(11)};
  return run;
}

JobKey read_key(const Row& row) { return {row.text(0), row.text(1), row.text(2), row.text(3)}; }

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     milliseconds);
}

struct Store::State {
  explicit State(Database opened) : database(std::move(opened)) {}
  Database database;
  std::mutex mutex;

  Status insert_run(const RunInfo& run) {
    const Machine& m = run.machine;
    if (auto status = database.run("INSERT OR IGNORE INTO machine (cpu, features, cores, system) VALUES (?,?,?,?)",
                                   m.cpu, m.features, m.cores, m.system);
        !status) {
      return status;
    }
    return database.run(
        "INSERT OR IGNORE INTO run SELECT ?,?,?,?,?,?,?, id, ? FROM machine WHERE cpu = ? AND features = ? AND "
        "cores = ? AND system = ?",
        run.id, run.command, run.suite, run.started_at, run.finished_at, run.assay_version, run.planned, m.accelerators,
        m.cpu, m.features, m.cores, m.system);
  }

  Status insert_jobs(const std::string& run, const std::vector<JobKey>& keys, std::string_view state,
                     std::size_t first_position) {
    for (const JobKey& key : keys) {
      if (auto status = database.run("INSERT OR IGNORE INTO job VALUES (?,?,?,?,?,?,?)", run, key.case_name,
                                     key.options, key.converter, key.version, first_position++, state);
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
            "version = ? AND state <> 'done'",
            job_state, run, key.case_name, key.options, key.converter, key.version);
        !status) {
      return status;
    }
    if (database.changes() == 1) return core::success();
    return broken_plan(key, "was not planned in this run or is recorded already");
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
          "version = ? AND state = 'done'",
          id, row.key.case_name, row.key.options, row.key.converter, row.key.version);
      if (!known) return known.error();
      if (known->value_or(0) > 0) continue;
      if (auto status = set_job(id, row.key, "done"); !status) return status;
      if (auto status = insert_result(database, id, row); !status) return status;
      ++count.results;
    }
    for (const AcceptedRow& row : from.accepted) {
      if (auto status = merge_anchor(database, id, row); !status) return status;
    }
    return core::success();
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::filesystem::path& file) {
  if (auto status = check_file(file); !status) return status.error();
  std::error_code failed;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), failed);
  auto database = Database::open(file, Database::Mode::read_write);
  if (!database) return database.error();
  if (auto status =
          database->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
      !status) {
    return status.error();
  }
  if (auto status = migrate(*database); !status) return status.error();
  return Store(std::make_unique<State>(std::move(*database)));
}

Result<std::string> Store::begin_run(const RunInfo& info, const std::vector<JobKey>& planned) {
  const std::scoped_lock lock(state_->mutex);
  RunInfo run = info;
  if (run.id.empty()) run.id = new_uuid();
  if (run.started_at.empty()) run.started_at = utc_now();
  if (run.machine.system.empty()) run.machine = this_machine();
  run.planned = planned.size();
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun().error();
  const auto known = state_->database.number("SELECT count(*) FROM run WHERE id = ?", run.id);
  if (!known) return known.error();
  if (known->value_or(0) > 0) {
    return Error{ErrorKind::internal, fmt::format("results: run {} has begun already", run.id), "", "", ""};
  }
  if (auto status = state_->insert_run(run); !status) return status.error();
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
  return run.id;
}

Status Store::job_started(const std::string& run, const JobKey& key) {
  const std::scoped_lock lock(state_->mutex);
  return state_->set_job(run, key, "started");
}

Status Store::record(const std::string& run, const ResultRow& row) {
  const std::scoped_lock lock(state_->mutex);
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun();
  if (auto status = state_->set_job(run, row.key, "done"); !status) return status;
  if (auto status = insert_result(state_->database, run, row); !status) return status;
  return transaction.commit();
}

Status Store::finish_run(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return state_->database.run("UPDATE run SET finished_at = ? WHERE id = ?", utc_now(), run);
}

Result<std::optional<RunInfo>> Store::unfinished_run(const std::string& suite) {
  const std::scoped_lock lock(state_->mutex);
  static const std::string sql =
      std::string(kRunColumns) +
      "WHERE finished_at = '' AND suite = ? ORDER BY started_at DESC, run.rowid DESC LIMIT 1";
  std::optional<RunInfo> found;
  auto status = state_->database.query(
      sql.c_str(), [&](const Row& row) { found = read_run(row); }, suite);
  if (!status) return status.error();
  return found;
}

Result<Store::Progress> Store::progress(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  Progress progress;
  auto status = state_->database.query(
      "SELECT case_name, options, converter, version, state FROM job WHERE run_id = ? ORDER BY position",
      [&](const Row& row) {
        const std::string state = row.text(4);
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

Result<std::vector<RunInfo>> Store::runs() {
  const std::scoped_lock lock(state_->mutex);
  static const std::string sql = std::string(kRunColumns) + "ORDER BY started_at, run.rowid";
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

Status Store::accept(const std::string& run, const std::vector<JobKey>& keys, const std::string& reason) {
  const std::scoped_lock lock(state_->mutex);
  Transaction transaction(state_->database);
  if (!transaction.begun()) return transaction.begun();
  const std::string now = utc_now();
  for (const JobKey& key : keys) {
    if (auto status = insert_anchor(state_->database, run, key, now, reason); !status) return status;
  }
  return transaction.commit();
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

Result<std::vector<std::string>> Store::versions(const std::string& converter) {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> versions;
  auto status = state_->database.query(
      "SELECT DISTINCT version FROM converter_version JOIN converter ON converter.id = converter_id WHERE name = ?",
      [&](const Row& row) { versions.push_back(row.text(0)); }, converter);
  if (!status) return status.error();
  std::sort(versions.begin(), versions.end(), core::version_less);
  return versions;
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
  return transaction.commit();
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
    if (auto status = state_->merge_run(run, count); !status) return status.error();
  }
  if (auto status = transaction.commit(); !status) return status.error();
  return count;
}

}  // namespace assay::results
