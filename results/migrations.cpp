#include "results/migrations.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "results/packing_15.hpp"

namespace assay::results {
namespace {

using core::Error;
using core::ErrorKind;
using core::Status;

/// Marks a SQLite file as ours: "Asay" in ASCII.
constexpr std::int64_t kApplicationId = 0x41736179;
constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

// 8: what a tensor lost was measured between tensors of the same name, which a converter may give to another value; it
// is measured on what operators read now, and the two aren't to be compared.
constexpr const char* kMarkLossesByName = R"sql(
UPDATE metric SET name = 'sqnr_loss_db_by_name' WHERE name = 'sqnr_loss_db';
)sql";

// 12: a verdict's margin was that of its outputs alone, also where something else was wrong; it is
// judge::verdict_margin(). Which findings were notes is unknown before step 11, so that the verdict says whether any
// was red.
constexpr const char* kMarginOfTheVerdict = R"sql(
UPDATE result SET margin = worst FROM (
  SELECT id AS own, max(coalesce(margin, 0), coalesce((SELECT max(value) FROM metric WHERE result_id = result.id
    AND name = 'local_margin' AND typeof(value) = 'real'), 0)) AS worst FROM result)
  WHERE own = id AND worst > 1 AND verdict NOT IN ('pass', 'unjudged', 'mistrusted');
UPDATE result SET margin = (SELECT margin FROM finding WHERE result_id = result.id AND amber = 0
    AND typeof(margin) = 'real' AND margin > 1 ORDER BY position LIMIT 1)
  WHERE coalesce(margin, 0) <= 1 AND verdict NOT IN ('pass', 'unjudged', 'mistrusted')
    AND EXISTS (SELECT 1 FROM finding WHERE result_id = result.id AND amber = 0);
)sql";

/// A step of the schema: SQL, or a function where SQL doesn't do.
struct Step {
  const char* sql = nullptr;
  Status (*function)(Database&) = nullptr;
  constexpr Step(const char* text) : sql(text) {}                // NOLINT(*-explicit-constructor): a list of texts
  constexpr Step(Status (*step)(Database&)) : function(step) {}  // NOLINT(*-explicit-constructor)
};

// A step is never edited once released: a change of the schema is a new step at the end.
constexpr Step kSteps[]{
    // 1: runs, their planned jobs, verdicts with what belongs to each, and what drift is judged against.
    R"sql(
CREATE TABLE machine (
  id INTEGER PRIMARY KEY, cpu TEXT NOT NULL, features TEXT NOT NULL, cores INTEGER NOT NULL, system TEXT NOT NULL,
  UNIQUE (cpu, features, cores, system));
CREATE TABLE converter (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE converter_version (
  id INTEGER PRIMARY KEY, converter_id INTEGER NOT NULL REFERENCES converter, version TEXT NOT NULL,
  hash TEXT NOT NULL, UNIQUE (converter_id, version, hash));
CREATE TABLE case_version (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, family TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (name, hash));
CREATE TABLE run (
  id TEXT PRIMARY KEY, command TEXT NOT NULL, suite TEXT NOT NULL, started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL, assay_version TEXT NOT NULL, planned INTEGER NOT NULL,
  machine_id INTEGER NOT NULL REFERENCES machine);
CREATE TABLE job (
  run_id TEXT NOT NULL REFERENCES run, case_name TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  version TEXT NOT NULL, position INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'started', 'done')),
  PRIMARY KEY (run_id, case_name, options, converter, version)) WITHOUT ROWID;
CREATE TABLE result (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run, case_version_id INTEGER NOT NULL REFERENCES case_version,
  converter_version_id INTEGER NOT NULL REFERENCES converter_version, options TEXT NOT NULL, verdict TEXT NOT NULL,
  gate TEXT NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  reason TEXT NOT NULL, signature TEXT NOT NULL, style TEXT NOT NULL, layers TEXT NOT NULL, margin REAL, sqnr_db REAL,
  seconds REAL NOT NULL, attempt INTEGER NOT NULL, started_at TEXT NOT NULL,
  UNIQUE (run_id, case_version_id, options, converter_version_id));
CREATE INDEX result_by_case ON result (case_version_id);
CREATE TABLE finding (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL,
  node TEXT NOT NULL, op TEXT NOT NULL, tensor TEXT NOT NULL, data_set TEXT NOT NULL, layer TEXT NOT NULL,
  message TEXT NOT NULL, margin REAL NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE metric (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, tensor TEXT NOT NULL,
  data_set TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE parameter (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, tensor TEXT NOT NULL, scale TEXT NOT NULL,
  zero_point TEXT NOT NULL, type TEXT NOT NULL, axis INTEGER, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE precision (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  got TEXT NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE artifact (
  result_id INTEGER PRIMARY KEY REFERENCES result, kind TEXT NOT NULL, hash TEXT NOT NULL, size_bytes INTEGER NOT NULL);
CREATE TABLE expectation (
  id INTEGER PRIMARY KEY, case_pattern TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  versions TEXT NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL, reason TEXT NOT NULL, url TEXT NOT NULL,
  until TEXT NOT NULL, margin REAL,
  UNIQUE (case_pattern, options, converter, versions, stage, facet, reason, url, until));
CREATE TABLE anchor (
  id INTEGER PRIMARY KEY, result_id INTEGER NOT NULL UNIQUE REFERENCES result, accepted_at TEXT NOT NULL,
  reason TEXT NOT NULL);
CREATE TABLE change (
  id INTEGER PRIMARY KEY, anchor_id INTEGER NOT NULL REFERENCES anchor, result_id INTEGER NOT NULL REFERENCES result,
  kind TEXT NOT NULL, delta REAL, accepted_at TEXT NOT NULL, reason TEXT NOT NULL);
)sql",
    // 2: every try of a request, since a time-out is tried again and both are recorded; and which verdicts used which
    // expected failure.
    R"sql(
CREATE TABLE attempt (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, request TEXT NOT NULL,
  number INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
  PRIMARY KEY (result_id, position)) WITHOUT ROWID;
ALTER TABLE result ADD COLUMN expectation_id INTEGER REFERENCES expectation;
CREATE INDEX result_by_signature ON result (signature);
)sql",
    // 3: a verdict can be accepted again after another one was; an anchor keeps how much its version wobbled, and a
    // change what it was, in words.
    R"sql(
CREATE TABLE anchor_3 (
  id INTEGER PRIMARY KEY, result_id INTEGER NOT NULL REFERENCES result, accepted_at TEXT NOT NULL, reason TEXT NOT NULL,
  repeats INTEGER NOT NULL, wobble_db REAL NOT NULL, parameters_wobble INTEGER NOT NULL);
CREATE TABLE change_3 (
  id INTEGER PRIMARY KEY, anchor_id INTEGER NOT NULL REFERENCES anchor_3, result_id INTEGER NOT NULL REFERENCES result,
  kind TEXT NOT NULL, delta REAL, detail TEXT NOT NULL, accepted_at TEXT NOT NULL, reason TEXT NOT NULL);
INSERT INTO anchor_3 SELECT id, result_id, accepted_at, reason, 1, 0, 0 FROM anchor;
INSERT INTO change_3 SELECT id, anchor_id, result_id, kind, delta, '', accepted_at, reason FROM change;
DROP TABLE change;
DROP TABLE anchor;
ALTER TABLE anchor_3 RENAME TO anchor;
ALTER TABLE change_3 RENAME TO change;
CREATE INDEX anchor_by_result ON anchor (result_id);
CREATE INDEX change_by_result ON change (result_id);
CREATE INDEX change_by_anchor ON change (anchor_id);
)sql",
    // 4: the accelerators that a run's machine had.
    R"sql(
ALTER TABLE run ADD COLUMN accelerators TEXT NOT NULL DEFAULT '';
)sql",
    // 5: two programs of a run that call themselves the same have a job each.
    R"sql(
CREATE TABLE job_5 (
  run_id TEXT NOT NULL REFERENCES run, case_name TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  version TEXT NOT NULL, hash TEXT NOT NULL, position INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'started', 'done')),
  PRIMARY KEY (run_id, case_name, options, converter, version, hash)) WITHOUT ROWID;
CREATE TABLE program_5 (
  run_id TEXT NOT NULL, case_name TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL, version TEXT NOT NULL,
  hash TEXT NOT NULL, PRIMARY KEY (run_id, case_name, options, converter, version)) WITHOUT ROWID;
INSERT OR IGNORE INTO program_5
  SELECT run_id, case_version.name, options, converter.name, converter_version.version, converter_version.hash
  FROM result CROSS JOIN case_version ON case_version.id = case_version_id
  CROSS JOIN converter_version ON converter_version.id = converter_version_id
  CROSS JOIN converter ON converter.id = converter_id ORDER BY result.id;
INSERT INTO job_5 SELECT run_id, case_name, options, converter, version, coalesce(program_5.hash, ''), position, state
  FROM job LEFT JOIN program_5 USING (run_id, case_name, options, converter, version);
DROP TABLE program_5;
DROP TABLE job;
ALTER TABLE job_5 RENAME TO job;
)sql",
    // 6: what a run was made with, which resuming compares; and the process that writes it, which beats.
    R"sql(
ALTER TABLE run ADD COLUMN settings TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN beats INTEGER NOT NULL DEFAULT 0;
)sql",
    // 7: what a verdict covers: nodes by operator, the ones that were not judged, and the least share of an output.
    R"sql(
ALTER TABLE result ADD COLUMN judged_outputs REAL;
CREATE TABLE coverage (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, op TEXT NOT NULL, nodes INTEGER NOT NULL,
  judged INTEGER NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE unjudged (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
)sql",
    kMarkLossesByName,
    // 9: whose policy a ready artifact was judged by.
    R"sql(
ALTER TABLE result ADD COLUMN judged_as TEXT NOT NULL DEFAULT '';
)sql",
    // 10: what a report shows of a verdict beyond numbers (graphs, weights, the derivation): JSON, packed by zlib. And
    // what `assay score` measured of Assay itself, as it printed it.
    R"sql(
CREATE TABLE detail (
  result_id INTEGER PRIMARY KEY REFERENCES result, size_bytes INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE TABLE score (
  id INTEGER PRIMARY KEY, command TEXT NOT NULL, made_at TEXT NOT NULL, json TEXT NOT NULL);
)sql",
    // 11: which findings are amber; the table attempt has every try of a request, so that the one number goes.
    R"sql(
ALTER TABLE finding ADD COLUMN amber INTEGER NOT NULL DEFAULT 0;
ALTER TABLE result DROP COLUMN attempt;
)sql",
    kMarginOfTheVerdict,
    // 13: expected failures that differ in their margin alone are two.
    R"sql(
CREATE TABLE expectation_13 (
  id INTEGER PRIMARY KEY, case_pattern TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  versions TEXT NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL, reason TEXT NOT NULL, url TEXT NOT NULL,
  until TEXT NOT NULL, margin REAL);
INSERT INTO expectation_13 SELECT id, case_pattern, options, converter, versions, stage, facet, reason, url, until, margin
  FROM expectation;
DROP TABLE expectation;
ALTER TABLE expectation_13 RENAME TO expectation;
CREATE UNIQUE INDEX expectation_by_all ON expectation (case_pattern, options, converter, versions, stage, facet, reason,
  url, until, ifnull(margin, 'none'));
)sql",
    // 14: scales of blocks.
    R"sql(
ALTER TABLE parameter ADD COLUMN block INTEGER NOT NULL DEFAULT 0;
)sql",
    // 15: what verdicts share is stored once, and what belongs to a verdict in two rows instead of forty; the old
    // tables are views of the same names.
    &pack_verdicts_15,
};

core::Result<std::int64_t> pragma(Database& database, const char* sql) {
  auto value = database.number(sql);
  if (!value) return value.error();
  return value->value_or(0);
}

struct Header {
  std::int64_t application = 0, tables = 0, schema = 0;
};

core::Result<Header> read_header(const std::filesystem::path& file, Database::Mode mode) {
  auto database = Database::open(file, mode);
  if (!database) return database.error();
  const auto application = pragma(*database, "PRAGMA application_id");
  const auto tables = pragma(*database, "SELECT count(*) FROM sqlite_schema");
  const auto schema = pragma(*database, "PRAGMA user_version");
  if (!application || !tables || !schema) {
    return !application ? application.error() : !tables ? tables.error() : schema.error();
  }
  return Header{*application, *tables, *schema};
}

}  // namespace

std::int64_t newest_schema() { return static_cast<std::int64_t>(std::size(kSteps)); }

std::string file_fault(const std::filesystem::path& file) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) return "is a folder";
  if (std::filesystem::exists(file, failed) && !std::filesystem::is_regular_file(file, failed)) return "is no file";
  const auto size_bytes = std::filesystem::file_size(file, failed);
  if (failed || size_bytes == 0) return {};
  std::string magic(kSqliteMagic.size(), '\0');
  std::ifstream(file, std::ios::binary).read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (magic != kSqliteMagic) return "is no SQLite database";

  auto header = read_header(file, Database::Mode::read_only);
  // A process that was killed while it wrote leaves a journal that only a writer may roll back.
  if (!header) header = read_header(file, Database::Mode::read_write);
  if (!header) return fmt::format("can't be read ({})", header.error().message);
  if (header->application != kApplicationId && (header->tables > 0 || header->schema > 0)) {
    return "is another program's database";
  }
  if (header->schema < 0) return fmt::format("has schema {}, which no Assay wrote", header->schema);
  if (header->schema > newest_schema()) {
    return fmt::format("has schema {}, this program knows up to {}: a newer Assay wrote it", header->schema,
                       newest_schema());
  }
  return {};
}

Status check_file(const std::filesystem::path& file) {
  const std::string why = file_fault(file);
  if (why.empty()) return core::success();
  return Error{ErrorKind::usage,
               fmt::format("{} {}; it was left as it is. choose another file with --db", file.string(), why), "", "",
               ""};
}

Status migrate(Database& database) {
  // All steps or none, written at once. The version is read inside: another process may be migrating the same file.
  Transaction transaction(database);
  if (!transaction.begun()) return transaction.begun();
  const auto schema = pragma(database, "PRAGMA user_version");
  if (!schema) return schema.error();
  if (*schema >= newest_schema()) return core::success();
  for (auto step = static_cast<std::size_t>(*schema); step < std::size(kSteps); ++step) {
    const Step& each = kSteps[step];
    if (auto status = each.sql != nullptr ? database.execute(each.sql) : each.function(database); !status) {
      return status;
    }
  }
  const std::string mark =
      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}", newest_schema(), kApplicationId);
  if (auto status = database.execute(mark.c_str()); !status) return status;
  return transaction.commit();
}

}  // namespace assay::results
