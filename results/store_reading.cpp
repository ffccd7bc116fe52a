#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "results/anchors.hpp"
#include "results/database.hpp"
#include "results/interned.hpp"
#include "results/lists.hpp"
#include "results/rows.hpp"
#include "results/store_state.hpp"

// What is read of a store; store.cpp writes.
namespace assay::results {
namespace {

using core::Result;
using core::Status;

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

JobKey read_key(const Row& row) { return {row.line(0), row.line(1), row.line(2), row.line(3), row.line(4)}; }

}  // namespace

Result<std::vector<std::pair<std::int64_t, std::string>>> Store::State::programs_of(const std::string& converter,
                                                                                    const std::string& version) {
  std::vector<std::pair<std::int64_t, std::string>> programs;
  auto status = database.query(
      "SELECT converter_version.id, hash FROM converter JOIN converter_version ON converter_id = converter.id WHERE "
      "name = ? AND version = ?",
      [&](const Row& row) { programs.emplace_back(row.integer(0), row.text(1)); }, converter, version);
  if (!status) return status.error();
  return programs;
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
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): sees a 0 in it
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
  hashes.reserve(last.size());
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
          "AND options = ? AND converter_version_id = ? ORDER BY verdict.id DESC LIMIT 1",
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

Result<std::vector<ChangeRow>> Store::changes(const std::string& run) {
  const std::scoped_lock lock(state_->mutex);
  return read_changes(state_->database, run);
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
