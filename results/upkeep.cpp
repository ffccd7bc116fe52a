#include "results/upkeep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/core/version.hpp"
#include "results/merge_database.hpp"
#include "results/rows.hpp"

namespace assay::results {
namespace {

using core::Result;
using core::Status;

core::Result<std::size_t> count(Database& database, const char* sql) {
  const auto number = database.number(sql);
  if (!number) return number.error();
  return static_cast<std::size_t>(number->value_or(0));
}

// What stays whatever is asked for. An edited case is a new series; of its old content the anchors stay.
constexpr const char* kAlwaysKept = R"sql(
DROP TABLE IF EXISTS temp.kept;
CREATE TEMP TABLE kept (id INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO kept SELECT result_id FROM anchor;
INSERT OR IGNORE INTO kept SELECT result_id FROM change WHERE accepted_at = '';
INSERT OR IGNORE INTO kept SELECT max(verdict.id) FROM verdict CROSS JOIN case_version ON case_version.id = case_version_id
  CROSS JOIN converter_version ON converter_version.id = converter_version_id GROUP BY name, options, converter_id;
INSERT OR IGNORE INTO kept SELECT max(newest.id) FROM anchor JOIN verdict AS accepted ON accepted.id = result_id JOIN
  converter_version AS its ON its.id = accepted.converter_version_id JOIN verdict AS newest ON
  newest.case_version_id = accepted.case_version_id AND newest.options = accepted.options JOIN converter_version AS other ON
  other.id = newest.converter_version_id AND other.converter_id = its.converter_id GROUP BY anchor.id;
INSERT OR IGNORE INTO kept SELECT verdict.id FROM run JOIN verdict ON verdict.run = run.number
  WHERE finished_at = '' OR owner <> '' OR number IN (SELECT run FROM open_job);
)sql";

constexpr const char* kKeepRuns = R"sql(
INSERT OR IGNORE INTO kept SELECT verdict.id FROM (
  SELECT run, converter_id, row_number() OVER (PARTITION BY suite, converter_id ORDER BY run DESC) AS age FROM (
    SELECT DISTINCT run, converter_id, suite FROM verdict CROSS JOIN converter_version ON
      converter_version.id = converter_version_id CROSS JOIN run ON run.number = run)) AS aged
  JOIN verdict ON verdict.run = aged.run JOIN converter_version ON converter_version.id = converter_version_id AND
  converter_version.converter_id = aged.converter_id WHERE age <= ?
)sql";

Status keep_versions(Database& database, std::size_t versions) {
  std::map<std::int64_t, std::vector<std::string>> of_converter;
  auto status = database.query(
      "SELECT DISTINCT converter_id, version FROM converter_version JOIN verdict ON "
      "converter_version_id = converter_version.id",
      [&](const Row& row) { of_converter[row.integer(0)].push_back(row.raw(1)); });
  if (!status) return status;
  for (auto& [converter, all] : of_converter) {
    std::ranges::sort(all, [](const auto& a, const auto& b) { return core::version_less(b, a); });
    all.resize(std::min(all.size(), versions));
    for (const std::string& version : all) {
      status = database.run(
          "INSERT OR IGNORE INTO kept SELECT verdict.id FROM converter_version JOIN verdict ON converter_version_id = "
          "converter_version.id WHERE converter_id = ? AND version = ?",
          converter, version);
      if (!status) return status;
    }
  }
  return core::success();
}

/// Of the verdicts that are there now those that nothing keeps; what is recorded later is none of them.
constexpr const char* kDoomed = R"sql(
DROP TABLE IF EXISTS temp.doomed;
CREATE TEMP TABLE doomed (run INTEGER, id INTEGER, PRIMARY KEY (run, id)) WITHOUT ROWID;
INSERT INTO doomed SELECT run, id FROM verdict WHERE id NOT IN (SELECT id FROM kept);
)sql";

/// Fills the tables `kept` and `doomed`.
Status choose(Database& database, const Retention& retention) {
  if (auto status = database.execute(kAlwaysKept); !status) return status;
  if (retention.runs) {
    if (auto status = database.run(kKeepRuns, *retention.runs); !status) return status;
  }
  if (retention.versions) {
    if (auto status = keep_versions(database, *retention.versions); !status) return status;
  }
  return database.execute(kDoomed);
}

Result<Pruned> counted(Database& database) {
  Pruned plan;
  const auto verdicts = count(database, "SELECT count(*) FROM verdict");
  const auto kept = count(database, "SELECT count(*) FROM kept");
  const auto runs = count(database, "SELECT count(*) FROM run");
  const auto gone =
      count(database,
            "SELECT count(*) FROM run WHERE number IN (SELECT run FROM verdict) AND number NOT IN (SELECT "
            "run FROM verdict JOIN kept ON kept.id = verdict.id)");
  const auto pages = count(database, "PRAGMA page_count");
  const auto free = count(database, "PRAGMA freelist_count");
  const auto page_bytes = count(database, "PRAGMA page_size");
  for (const auto* each : {&verdicts, &kept, &runs, &gone, &pages, &free, &page_bytes}) {
    if (!*each) return each->error();
  }
  plan.verdicts = *verdicts - *kept;
  plan.kept_verdicts = *kept;
  plan.runs = *gone;
  plan.kept_runs = *runs - *gone;
  if (*verdicts > 0) {
    plan.bytes = static_cast<std::size_t>(static_cast<double>((*pages - *free) * *page_bytes) *
                                          (static_cast<double>(plan.verdicts) / static_cast<double>(*verdicts)));
  }
  return plan;
}

/// One run's verdicts that aren't kept, with what belongs to them. What was accepted meanwhile stays.
Result<std::size_t> prune_run(Database& database, std::int64_t run) {
  Transaction transaction(database);
  if (!transaction.begun()) return transaction.begun().error();
  constexpr const char* kStatements[]{
      "INSERT INTO going SELECT verdict.id FROM doomed CROSS JOIN verdict ON verdict.id = doomed.id AND verdict.run = "
      "doomed.run WHERE doomed.run = ? AND verdict.id NOT IN (SELECT result_id FROM anchor) AND verdict.id NOT IN "
      "(SELECT result_id FROM change WHERE accepted_at = '')",
      "DELETE FROM change WHERE result_id IN (SELECT id FROM going)",
      "DELETE FROM detail WHERE result_id IN (SELECT id FROM going)",
      "DELETE FROM verdict_more WHERE id IN (SELECT id FROM going)",
      "DELETE FROM verdict WHERE id IN (SELECT id FROM going)",
  };
  if (auto status =
          database.execute("CREATE TEMP TABLE IF NOT EXISTS going (id INTEGER PRIMARY KEY); DELETE FROM going");
      !status) {
    return status.error();
  }
  if (auto status = database.run(kStatements[0], run); !status) return status.error();
  for (std::size_t i = 1; i < std::size(kStatements); ++i) {
    if (auto status = database.run(kStatements[i]); !status) return status.error();
  }
  const auto gone = static_cast<std::size_t>(database.changes());
  if (auto status = database.run("DELETE FROM run WHERE number = ? AND NOT EXISTS (SELECT 1 FROM verdict WHERE run = "
                                 "run.number) AND NOT EXISTS "
                                 "(SELECT 1 FROM open_job WHERE run = run.number)",
                                 run);
      !status) {
    return status.error();
  }
  if (auto status = transaction.commit(); !status) return status.error();
  return gone;
}

Result<std::size_t> free_bytes(Database& database) {
  const auto pages = count(database, "PRAGMA freelist_count");
  const auto page_bytes = count(database, "PRAGMA page_size");
  if (!pages || !page_bytes) return !pages ? pages.error() : page_bytes.error();
  return *pages * *page_bytes;
}

/// Numbers that refer to nothing; the schema watches only those whose other end may be deleted.
constexpr const char* kDangling = R"sql(
SELECT count(*), 'verdicts have an outcome that isn''t there' FROM verdict WHERE outcome_id NOT IN (SELECT id FROM outcome)
UNION ALL SELECT count(*), 'verdicts have options, coverage or nodes not judged that aren''t there' FROM verdict WHERE
  options NOT IN (SELECT id FROM content) OR coverage NOT IN (SELECT id FROM content) OR
  unjudged NOT IN (SELECT id FROM content)
UNION ALL SELECT count(*), 'verdicts have an expected failure that isn''t there' FROM verdict WHERE
  expectation_id NOT NULL AND expectation_id NOT IN (SELECT id FROM expectation)
UNION ALL SELECT count(*), 'verdicts have no metrics, parameters and so on' FROM verdict WHERE
  id NOT IN (SELECT id FROM verdict_more)
UNION ALL SELECT count(*), 'verdicts have metrics, parameters, findings or requests that aren''t there' FROM verdict_more
  WHERE artifact_kind NOT IN (SELECT id FROM content) OR findings NOT IN (SELECT id FROM content) OR
  precision NOT IN (SELECT id FROM content) OR attempts NOT IN (SELECT id FROM content) OR
  metrics NOT IN (SELECT id FROM content) OR parameters NOT IN (SELECT id FROM content)
UNION ALL SELECT count(*), 'outcomes have words that aren''t there' FROM outcome WHERE
  verdict NOT IN (SELECT id FROM content) OR gate NOT IN (SELECT id FROM content) OR
  stage NOT IN (SELECT id FROM content) OR facet NOT IN (SELECT id FROM content) OR
  node NOT IN (SELECT id FROM content) OR op NOT IN (SELECT id FROM content) OR
  reason NOT IN (SELECT id FROM content) OR signature NOT IN (SELECT id FROM content) OR
  style NOT IN (SELECT id FROM content) OR layers NOT IN (SELECT id FROM content) OR
  judged_as NOT IN (SELECT id FROM content)
)sql";

}  // namespace

Result<Pruned> plan_prune(Database& database, const Retention& retention) {
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun().error();
  if (auto status = choose(database, retention); !status) return status.error();
  return counted(database);
}

Result<Pruned> prune(Database& database, const Retention& retention,
                     const std::function<void(std::size_t done, std::size_t all)>& step) {
  const auto free_before = free_bytes(database);
  if (!free_before) return free_before.error();
  auto plan = plan_prune(database, retention);
  if (!plan) return plan.error();
  const auto runs = read_ids(database, "SELECT DISTINCT run FROM doomed ORDER BY run");
  if (!runs) return runs.error();
  std::size_t gone = 0, done = 0;
  for (const std::int64_t run : *runs) {
    const auto verdicts = prune_run(database, run);
    if (!verdicts) return verdicts.error();
    gone += *verdicts;
    step(++done, runs->size());
  }
  {
    Transaction transaction(database);
    if (!transaction.begun()) return transaction.begun().error();
    if (auto status = drop_unused(database); !status) return status.error();
    if (auto status = transaction.commit(); !status) return status.error();
  }
  const auto free_after = free_bytes(database);
  if (!free_after) return free_after.error();
  plan->kept_verdicts += plan->verdicts - gone;
  plan->verdicts = gone;
  plan->bytes = *free_after - std::min(*free_before, *free_after);
  return plan;
}

Result<std::vector<std::string>> find_damage(Database& database) {
  std::vector<std::string> found;
  auto status = database.query("PRAGMA integrity_check(100)", [&](const Row& row) {
    if (row.text(0) != "ok") found.push_back(row.text(0));
  });
  if (!status) return status.error();
  if (!found.empty()) return found;  // what can't be read can't be counted
  status = database.query("PRAGMA foreign_key_check", [&](const Row& row) {
    constexpr std::size_t kMost = 100;
    if (found.size() < kMost) {
      found.push_back(fmt::format("a row of table {} refers to one of {} that isn't there", row.text(0), row.text(2)));
    }
  });
  if (!status) return status.error();
  status = database.query(kDangling, [&](const Row& row) {
    if (row.integer(0) > 0) found.push_back(fmt::format("{} {}", row.integer(0), row.text(1)));
  });
  if (!status) return status.error();
  return found;
}

Result<Sizes> vacuum(Database& database) {
  const auto size = [&]() -> Result<std::size_t> {
    const auto pages = count(database, "PRAGMA page_count");
    const auto page_bytes = count(database, "PRAGMA page_size");
    if (!pages || !page_bytes) return !pages ? pages.error() : page_bytes.error();
    return *pages * *page_bytes;
  };
  const auto before = size();
  if (!before) return before.error();
  // It builds a copy, which needn't fit into memory.
  if (auto status = database.execute("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY"); !status) {
    return status.error();
  }
  // The log has all pages now; the file shrinks when it takes them over.
  if (auto status = database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !status) return status.error();
  const auto after = size();
  if (!after) return after.error();
  return Sizes{*before, *after};
}

}  // namespace assay::results
