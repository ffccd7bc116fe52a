-- A database of schema 14: its tables, without rows.
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
  machine_id INTEGER NOT NULL REFERENCES machine, accelerators TEXT NOT NULL DEFAULT '', settings TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '', beats INTEGER NOT NULL DEFAULT 0);
CREATE TABLE result (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run, case_version_id INTEGER NOT NULL REFERENCES case_version,
  converter_version_id INTEGER NOT NULL REFERENCES converter_version, options TEXT NOT NULL, verdict TEXT NOT NULL,
  gate TEXT NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  reason TEXT NOT NULL, signature TEXT NOT NULL, style TEXT NOT NULL, layers TEXT NOT NULL, margin REAL, sqnr_db REAL,
  seconds REAL NOT NULL, started_at TEXT NOT NULL, expectation_id INTEGER REFERENCES expectation, judged_outputs REAL, judged_as TEXT NOT NULL DEFAULT '',
  UNIQUE (run_id, case_version_id, options, converter_version_id));
CREATE INDEX result_by_case ON result (case_version_id);
CREATE TABLE finding (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL,
  node TEXT NOT NULL, op TEXT NOT NULL, tensor TEXT NOT NULL, data_set TEXT NOT NULL, layer TEXT NOT NULL,
  message TEXT NOT NULL, margin REAL NOT NULL, amber INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE metric (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, tensor TEXT NOT NULL,
  data_set TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE parameter (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, tensor TEXT NOT NULL, scale TEXT NOT NULL,
  zero_point TEXT NOT NULL, type TEXT NOT NULL, axis INTEGER, block INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE precision (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  got TEXT NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE artifact (
  result_id INTEGER PRIMARY KEY REFERENCES result, kind TEXT NOT NULL, hash TEXT NOT NULL, size_bytes INTEGER NOT NULL);
CREATE TABLE attempt (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, request TEXT NOT NULL,
  number INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
  PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE INDEX result_by_signature ON result (signature);
CREATE TABLE "anchor" (
  id INTEGER PRIMARY KEY, result_id INTEGER NOT NULL REFERENCES result, accepted_at TEXT NOT NULL, reason TEXT NOT NULL,
  repeats INTEGER NOT NULL, wobble_db REAL NOT NULL, parameters_wobble INTEGER NOT NULL);
CREATE TABLE "change" (
  id INTEGER PRIMARY KEY, anchor_id INTEGER NOT NULL REFERENCES "anchor", result_id INTEGER NOT NULL REFERENCES result,
  kind TEXT NOT NULL, delta REAL, detail TEXT NOT NULL, accepted_at TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX anchor_by_result ON anchor (result_id);
CREATE INDEX change_by_result ON change (result_id);
CREATE INDEX change_by_anchor ON change (anchor_id);
CREATE TABLE "job" (
  run_id TEXT NOT NULL REFERENCES run, case_name TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  version TEXT NOT NULL, hash TEXT NOT NULL, position INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'started', 'done')),
  PRIMARY KEY (run_id, case_name, options, converter, version, hash)) WITHOUT ROWID;
CREATE TABLE coverage (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, op TEXT NOT NULL, nodes INTEGER NOT NULL,
  judged INTEGER NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE unjudged (
  result_id INTEGER NOT NULL REFERENCES result, position INTEGER NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY (result_id, position)) WITHOUT ROWID;
CREATE TABLE detail (
  result_id INTEGER PRIMARY KEY REFERENCES result, size_bytes INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE TABLE score (
  id INTEGER PRIMARY KEY, command TEXT NOT NULL, made_at TEXT NOT NULL, json TEXT NOT NULL);
CREATE TABLE "expectation" (
  id INTEGER PRIMARY KEY, case_pattern TEXT NOT NULL, options TEXT NOT NULL, converter TEXT NOT NULL,
  versions TEXT NOT NULL, stage TEXT NOT NULL, facet TEXT NOT NULL, reason TEXT NOT NULL, url TEXT NOT NULL,
  until TEXT NOT NULL, margin REAL);
CREATE UNIQUE INDEX expectation_by_all ON expectation (case_pattern, options, converter, versions, stage, facet, reason,
  url, until, ifnull(margin, 'none'));
PRAGMA user_version = 14;
PRAGMA application_id = 1098080633;
