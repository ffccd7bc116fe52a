#include "results/packing_15.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/interned.hpp"
#include "results/lists.hpp"
#include "results/rows.hpp"
#include "results/store.hpp"

namespace assay::results {
namespace {

using core::Result;
using core::Status;

constexpr const char* kNewTables = R"sql(
CREATE TABLE run_15 (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, command TEXT NOT NULL, suite TEXT NOT NULL,
  started_at TEXT NOT NULL, finished_at TEXT NOT NULL, assay_version TEXT NOT NULL, planned INTEGER NOT NULL,
  machine_id INTEGER NOT NULL REFERENCES machine, accelerators TEXT NOT NULL DEFAULT '',
  settings TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '', beats INTEGER NOT NULL DEFAULT 0);
INSERT INTO run_15 SELECT rowid, id, command, suite, started_at, finished_at, assay_version, planned, machine_id,
  accelerators, settings, owner, beats FROM run ORDER BY rowid;
CREATE TABLE content (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX content_by_hash ON content (hash);
CREATE TABLE outcome (
  id INTEGER PRIMARY KEY, verdict INTEGER NOT NULL, gate INTEGER NOT NULL, stage INTEGER NOT NULL,
  facet INTEGER NOT NULL, node INTEGER NOT NULL, op INTEGER NOT NULL, reason INTEGER NOT NULL,
  signature INTEGER NOT NULL, style INTEGER NOT NULL, layers INTEGER NOT NULL, judged_as INTEGER NOT NULL);
CREATE UNIQUE INDEX outcome_by_all ON outcome (reason, verdict, style, layers, node, op, gate, stage, facet, signature,
  judged_as);
CREATE TABLE verdict (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run_15, position INTEGER,
  case_version_id INTEGER NOT NULL REFERENCES case_version, options INTEGER NOT NULL,
  converter_version_id INTEGER NOT NULL REFERENCES converter_version, outcome_id INTEGER NOT NULL, coverage INTEGER,
  unjudged INTEGER, margin REAL, sqnr_db REAL, judged_outputs REAL, seconds REAL NOT NULL, started_at NOT NULL,
  expectation_id INTEGER);
CREATE UNIQUE INDEX verdict_by_series ON verdict (case_version_id, options, converter_version_id, run);
CREATE INDEX verdict_by_version ON verdict (converter_version_id);
CREATE INDEX verdict_by_run ON verdict (run, position);
CREATE TABLE verdict_more (
  id INTEGER PRIMARY KEY REFERENCES verdict, artifact_kind INTEGER, artifact_hash, artifact_bytes INTEGER,
  findings INTEGER, precision INTEGER, attempts INTEGER, attempt_seconds TEXT, metrics INTEGER, metric_values TEXT,
  parameters INTEGER);
CREATE TABLE open_job (
  run INTEGER NOT NULL REFERENCES run_15, case_name TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  version TEXT NOT NULL, hash TEXT NOT NULL, position INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'started')),
  PRIMARY KEY (run, case_name, options, converter, version, hash)) WITHOUT ROWID;
)sql";

// A job that is done is its verdict; one that nobody has a verdict of is to be done again.
constexpr const char* kNewRest = R"sql(
INSERT INTO open_job SELECT run_15.number, case_name, options, converter, version, hash, position,
  CASE state WHEN 'started' THEN 'started' ELSE 'waiting' END FROM job JOIN run_15 ON run_15.id = job.run_id
  WHERE NOT EXISTS (SELECT 1 FROM converter CROSS JOIN converter_version ON converter_id = converter.id AND
    converter_version.version = job.version AND converter_version.hash = job.hash CROSS JOIN case_version ON
    case_version.name = case_name CROSS JOIN result ON result.run_id = job.run_id AND case_version_id = case_version.id
    AND result.options = job.options AND converter_version_id = converter_version.id WHERE
    converter.name = job.converter);
CREATE TABLE anchor_15 (
  id INTEGER PRIMARY KEY, result_id INTEGER NOT NULL REFERENCES verdict, accepted_at TEXT NOT NULL, reason TEXT NOT NULL,
  repeats INTEGER NOT NULL, wobble_db REAL NOT NULL, parameters_wobble INTEGER NOT NULL);
CREATE TABLE change_15 (
  id INTEGER PRIMARY KEY, anchor_id INTEGER NOT NULL REFERENCES anchor_15,
  result_id INTEGER NOT NULL REFERENCES verdict, kind TEXT NOT NULL, delta REAL, detail TEXT NOT NULL,
  accepted_at TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE detail_15 (
  result_id INTEGER PRIMARY KEY REFERENCES verdict, size_bytes INTEGER NOT NULL, packed BLOB NOT NULL);
INSERT INTO anchor_15 SELECT * FROM anchor;
INSERT INTO change_15 SELECT * FROM change;
INSERT INTO detail_15 SELECT * FROM detail;
DROP TABLE change;
DROP TABLE anchor;
DROP TABLE detail;
DROP TABLE job;
DROP TABLE finding;
DROP TABLE metric;
DROP TABLE parameter;
DROP TABLE precision;
DROP TABLE artifact;
DROP TABLE attempt;
DROP TABLE coverage;
DROP TABLE unjudged;
DROP TABLE result;
DROP TABLE run;
ALTER TABLE run_15 RENAME TO run;
ALTER TABLE anchor_15 RENAME TO anchor;
ALTER TABLE change_15 RENAME TO change;
ALTER TABLE detail_15 RENAME TO detail;
CREATE INDEX anchor_by_result ON anchor (result_id);
CREATE INDEX change_by_result ON change (result_id);
CREATE INDEX change_by_anchor ON change (anchor_id);
)sql";

// What people and other programs read: the tables of schema 14.
constexpr const char* kViews = R"sql(
CREATE VIEW result AS SELECT verdict.id, (SELECT id FROM run WHERE number = run) AS run_id, case_version_id,
  converter_version_id, (SELECT text FROM content WHERE id = verdict.options) AS options,
  (SELECT text FROM content WHERE id = outcome.verdict) AS verdict,
  (SELECT text FROM content WHERE id = gate) AS gate, (SELECT text FROM content WHERE id = stage) AS stage,
  (SELECT text FROM content WHERE id = facet) AS facet, (SELECT text FROM content WHERE id = node) AS node,
  (SELECT text FROM content WHERE id = op) AS op, (SELECT text FROM content WHERE id = reason) AS reason,
  (SELECT text FROM content WHERE id = signature) AS signature,
  (SELECT text FROM content WHERE id = style) AS style, (SELECT text FROM content WHERE id = layers) AS layers,
  margin, sqnr_db, seconds, CASE typeof(started_at) WHEN 'integer' THEN
    strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000, 'unixepoch') || printf('.%03dZ', started_at % 1000)
    ELSE started_at END AS started_at,
  expectation_id, judged_outputs, (SELECT text FROM content WHERE id = judged_as) AS judged_as
  FROM verdict JOIN outcome ON outcome.id = outcome_id;
CREATE VIEW job AS SELECT run.id AS run_id, case_name, options, converter, version, hash, position, state
  FROM open_job JOIN run ON number = run
  UNION ALL SELECT run.id, case_version.name, content.text, converter.name, version, converter_version.hash,
    position, 'done' FROM verdict JOIN run ON number = run JOIN case_version ON case_version.id = case_version_id JOIN
    content ON content.id = verdict.options JOIN converter_version ON converter_version.id = converter_version_id JOIN
    converter ON converter.id = converter_id;
CREATE VIEW artifact AS SELECT verdict_more.id AS result_id, text AS kind, CASE typeof(artifact_hash) WHEN 'blob' THEN
  lower(hex(artifact_hash)) ELSE artifact_hash END AS hash, artifact_bytes AS size_bytes
  FROM verdict_more JOIN content ON content.id = artifact_kind;
CREATE VIEW finding AS SELECT verdict_more.id AS result_id, key AS position, json_extract(value, '$[0]') AS stage,
  json_extract(value, '$[1]') AS facet, json_extract(value, '$[2]') AS node, json_extract(value, '$[3]') AS op,
  json_extract(value, '$[4]') AS tensor, json_extract(value, '$[5]') AS data_set,
  json_extract(value, '$[6]') AS layer, json_extract(value, '$[7]') AS message,
  CASE json_extract(value, '$[8]') WHEN 'Infinity' THEN 9e999 WHEN '-Infinity' THEN -9e999
    ELSE json_extract(value, '$[8]') END AS margin, json_extract(value, '$[9]') AS amber
  FROM verdict_more JOIN content ON content.id = findings JOIN json_each(text);
CREATE VIEW metric AS SELECT verdict_more.id AS result_id, names.key AS position,
  json_extract(names.value, '$[0]') AS tensor, json_extract(names.value, '$[1]') AS data_set,
  json_extract(names.value, '$[2]') AS name, CASE numbers.value WHEN 'Infinity' THEN 9e999 WHEN '-Infinity' THEN -9e999
    ELSE numbers.value END AS value
  FROM verdict_more JOIN content ON content.id = metrics JOIN json_each(text) AS names
  JOIN json_each(metric_values) AS numbers ON numbers.key = names.key;
CREATE VIEW parameter AS SELECT verdict_more.id AS result_id, key AS position, json_extract(value, '$[0]') AS tensor,
  json_extract(value, '$[5]') AS scale, json_extract(value, '$[6]') AS zero_point,
  json_extract(value, '$[1]') AS type, json_extract(value, '$[2]') AS axis, json_extract(value, '$[3]') AS block
  FROM verdict_more JOIN content ON content.id = parameters JOIN json_each(text);
CREATE VIEW precision AS SELECT verdict_more.id AS result_id, key AS position, json_extract(value, '$[0]') AS node,
  json_extract(value, '$[1]') AS op, json_extract(value, '$[2]') AS got
  FROM verdict_more JOIN content ON content.id = verdict_more.precision JOIN json_each(text);
CREATE VIEW attempt AS SELECT verdict_more.id AS result_id, words.key AS position,
  json_extract(words.value, '$[0]') AS request, json_extract(words.value, '$[1]') AS number,
  json_extract(words.value, '$[2]') AS outcome, json_extract(words.value, '$[3]') AS reason, times.value AS seconds
  FROM verdict_more JOIN content ON content.id = attempts JOIN json_each(text) AS words
  JOIN json_each(attempt_seconds) AS times ON times.key = words.key;
CREATE VIEW coverage AS SELECT verdict.id AS result_id, key AS position, json_extract(value, '$[0]') AS op,
  json_extract(value, '$[1]') AS nodes, json_extract(value, '$[2]') AS judged
  FROM verdict JOIN content ON content.id = verdict.coverage JOIN json_each(text);
CREATE VIEW unjudged AS SELECT verdict.id AS result_id, key AS position, json_extract(value, '$[0]') AS node,
  json_extract(value, '$[1]') AS op, json_extract(value, '$[2]') AS reason
  FROM verdict JOIN content ON content.id = verdict.unjudged JOIN json_each(text);
)sql";

/// A verdict of schema 14 with the numbers under which the new table has it.
struct Old {
  std::int64_t id = 0, run = 0, case_version = 0, converter_version = 0;
  std::optional<std::int64_t> position, expectation;
  ResultRow row;
};

Status read_lists(Database& database, Old& old) {
  ResultRow& row = old.row;
  const std::int64_t id = old.id;
  auto status = database.query(
      "SELECT stage, facet, node, op, tensor, data_set, layer, message, margin, amber FROM finding WHERE result_id = ? "
      "ORDER BY position",
      [&](const Row& f) {
        row.findings.push_back({f.raw(0), f.raw(1), f.raw(2), f.raw(3), f.raw(4), f.raw(5), f.raw(6), f.raw(7),
                                f.real(8), f.integer(9) != 0});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT tensor, data_set, name, value FROM metric WHERE result_id = ? ORDER BY position",
      [&](const Row& m) {
        row.metrics.push_back({m.raw(0), m.raw(1), m.raw(2), m.real(3)});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT tensor, scale, zero_point, type, axis, block FROM parameter WHERE result_id = ? ORDER BY position",
      [&](const Row& p) {
        ParameterRow each{p.raw(0), {read_reals(p.raw(1)), read_integers(p.raw(2)), {}, {}}};
        each.params.type = core::parse_dtype(p.raw(3)).value_or(core::DType::undefined);
        if (!p.null(4)) each.params.axis = p.integer(4);
        each.params.block = p.integer(5);
        row.parameters.push_back(std::move(each));
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT node, op, got FROM precision WHERE result_id = ? ORDER BY position",
      [&](const Row& p) {
        row.precision.push_back({p.raw(0), p.raw(1), p.raw(2)});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT request, number, outcome, reason, seconds FROM attempt WHERE result_id = ? ORDER BY position",
      [&](const Row& a) {
        row.attempts.push_back({a.raw(0), static_cast<int>(a.integer(1)), a.raw(2), a.raw(3), a.real(4)});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT op, nodes, judged FROM coverage WHERE result_id = ? ORDER BY position",
      [&](const Row& c) {
        row.coverage.push_back(
            {c.raw(0), static_cast<std::size_t>(c.integer(1)), static_cast<std::size_t>(c.integer(2))});
      },
      id);
  if (!status) return status;
  return database.query(
      "SELECT node, op, reason FROM unjudged WHERE result_id = ? ORDER BY position",
      [&](const Row& u) {
        row.unjudged.push_back({u.raw(0), u.raw(1), u.raw(2)});
      },
      id);
}

Result<Old> read_old(Database& database, std::int64_t id) {
  Old old;
  old.id = id;
  ResultRow& r = old.row;
  auto status = database.query(
      "SELECT run_15.number, case_version_id, converter_version_id, result.options, verdict, gate, stage, facet, node, "
      "op, reason, signature, style, layers, margin, sqnr_db, seconds, result.started_at, expectation_id, "
      "judged_outputs, judged_as, job.position, artifact.kind, artifact.hash, artifact.size_bytes FROM result CROSS "
      "JOIN run_15 ON run_15.id = result.run_id CROSS JOIN case_version ON case_version.id = case_version_id CROSS "
      "JOIN converter_version ON converter_version.id = converter_version_id CROSS JOIN converter ON converter.id = "
      "converter_id LEFT JOIN job ON job.run_id = result.run_id AND job.case_name = case_version.name AND job.options "
      "= result.options AND job.converter = converter.name AND job.version = converter_version.version AND job.hash = "
      "converter_version.hash LEFT JOIN artifact ON artifact.result_id = result.id WHERE result.id = ?",
      [&](const Row& row) {
        old.run = row.integer(0);
        old.case_version = row.integer(1);
        old.converter_version = row.integer(2);
        r.key.options = row.raw(3);
        r.verdict = row.raw(4), r.gate = row.raw(5), r.stage = row.raw(6), r.facet = row.raw(7), r.node = row.raw(8);
        r.op = row.raw(9), r.reason = row.raw(10), r.signature = row.raw(11), r.style = row.raw(12);
        r.layers = row.raw(13);
        r.margin = row.optional_real(14), r.sqnr_db = row.optional_real(15), r.seconds = row.real(16);
        r.started_at = row.raw(17);
        if (!row.null(18)) old.expectation = row.integer(18);
        r.judged_outputs = row.optional_real(19);
        r.judged_as = row.raw(20);
        if (!row.null(21)) old.position = row.integer(21);
        r.artifact_kind = row.raw(22), r.artifact_hash = row.raw(23);
        r.artifact_bytes = static_cast<std::size_t>(row.integer(24));
      },
      id);
  if (status) status = read_lists(database, old);
  if (!status) return status.error();
  return old;
}

Status write_new(Database& database, Interned& interned, const Old& old) {
  const ResultRow& row = old.row;
  const auto options = interned.text(row.key.options);
  if (!options) return options.error();
  const auto outcome = interned.outcome(row);
  if (!outcome) return outcome.error();
  std::optional<std::int64_t> coverage, unjudged, kind, findings, precision, attempts, metrics, parameters;
  for (const auto& [text, target] : {std::pair(coverage_text(row.coverage), &coverage),
                                     {unjudged_text(row.unjudged), &unjudged},
                                     {row.artifact_kind, &kind},
                                     {findings_text(row.findings), &findings},
                                     {precision_text(row.precision), &precision},
                                     {attempts_text(row.attempts), &attempts},
                                     {metric_names_text(row.metrics), &metrics},
                                     {parameters_text(row.parameters), &parameters}}) {
    const auto number = interned.optional_text(text);
    if (!number) return number.error();
    *target = *number;
  }
  const std::optional<std::int64_t> started = milliseconds_of(row.started_at);
  if (auto status = database.run("INSERT INTO verdict VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,coalesce(?,?),?)", old.id,
                                 old.run, old.position, old.case_version, *options, old.converter_version, *outcome,
                                 coverage, unjudged, row.margin, row.sqnr_db, row.judged_outputs, row.seconds, started,
                                 row.started_at, old.expectation);
      !status) {
    return status;
  }
  std::optional<std::string> seconds, values;
  if (!row.attempts.empty()) seconds = attempt_seconds_text(row.attempts);
  if (!row.metrics.empty()) values = metric_values_text(row.metrics);
  const std::string hash = hash_bytes(row.artifact_hash);
  std::optional<Blob> short_hash;
  std::optional<std::string> digits;
  std::optional<std::size_t> bytes;
  if (kind) {
    bytes = row.artifact_bytes;
    if (hash.empty()) {
      digits = row.artifact_hash;
    } else {
      short_hash = Blob{hash};
    }
  }
  return database.run("INSERT INTO verdict_more VALUES (?,?,coalesce(?,?),?,?,?,?,?,?,?,?)", old.id, kind, short_hash,
                      digits, bytes, findings, precision, attempts, seconds, metrics, values, parameters);
}

}  // namespace

Status pack_verdicts_15(Database& database) {
  if (auto status = database.execute(kNewTables); !status) return status;
  const auto ids = read_ids(database, "SELECT id FROM result ORDER BY id");
  if (!ids) return ids.error();
  Interned interned(database);
  for (const std::int64_t id : *ids) {
    const auto old = read_old(database, id);
    if (!old) return old.error();
    if (auto status = write_new(database, interned, *old); !status) return status;
  }
  if (auto status = database.execute(kNewRest); !status) return status;
  return database.execute(kViews);
}

}  // namespace assay::results
