-- A database as schema 1 left it, with one run that was killed.
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

INSERT INTO machine VALUES (1, 'Some CPU', 'avx2', 4, 'Linux 6.1 x86_64');
INSERT INTO converter VALUES (1, 'embedded');
INSERT INTO converter_version VALUES (1, 1, '0.1.0', 'c0ffee');
INSERT INTO case_version VALUES (1, 'conv/groups=2', 'conv', 'aa11');
INSERT INTO run VALUES ('run-1', 'assay run seeds', 'seeds', '2026-01-02T03:04:05.000Z', '', '0.1.0', 2, 1);
INSERT INTO job VALUES ('run-1', 'conv/groups=2', 'default', 'embedded', '0.1.0', 0, 'done');
INSERT INTO job VALUES ('run-1', 'conv/groups=4', 'default', 'embedded', '0.1.0', 1, 'started');
INSERT INTO result VALUES (7, 'run-1', 1, 1, 'default', 'fail', 'red', 'judge', 'scale', 'c1', 'Conv', 'scale is off',
  'fail|judge|scale|Conv|scale is off', 'float', 'L0,L1', 1.5, 33.25, 0.125, 1, '2026-01-02T03:04:06.000Z');
INSERT INTO finding VALUES (7, 0, 'judge', 'scale', 'c1', 'Conv', 'x', 'typical', 'L0', 'scale is off', 1.5);
INSERT INTO metric VALUES (7, 0, 'y', 'typical', 'sqnr_db', 33.25);
INSERT INTO parameter VALUES (7, 0, 'w', '[0.5,0.25]', '[0,0]', 'int8', 0);
INSERT INTO precision VALUES (7, 0, 'c1', 'Conv', 'int8');
INSERT INTO artifact VALUES (7, 'qdq', 'beef', 1234);
PRAGMA user_version = 1;
PRAGMA application_id = 1098080633;
