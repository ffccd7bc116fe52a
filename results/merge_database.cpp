#include "results/merge_database.hpp"

#include <cstdint>
#include <string>

namespace assay::results {
namespace {

using core::Result;
using core::Status;

// Every table of theirs gets a map from its numbers to ours. LEFT JOIN: what refers to nothing there becomes NULL here,
// which the schema refuses where it matters.

constexpr const char* kRuns = R"sql(
INSERT OR IGNORE INTO main.machine (cpu, features, cores, system)
  SELECT cpu, features, cores, system FROM theirs.machine;
INSERT OR IGNORE INTO main.run (id, command, suite, started_at, finished_at, assay_version, planned, machine_id,
  accelerators, settings)
  SELECT run.id, command, suite, started_at, finished_at, assay_version, planned, main.machine.id, accelerators, settings
  FROM theirs.run LEFT JOIN theirs.machine ON theirs.machine.id = machine_id LEFT JOIN main.machine ON
  (main.machine.cpu, main.machine.features, main.machine.cores, main.machine.system) =
  (theirs.machine.cpu, theirs.machine.features, theirs.machine.cores, theirs.machine.system) ORDER BY run.number;
)sql";

constexpr const char* kMaps = R"sql(
UPDATE main.run SET finished_at = (SELECT finished_at FROM theirs.run AS other WHERE other.id = run.id)
  WHERE finished_at = '' AND id IN (SELECT id FROM theirs.run);
CREATE TEMP TABLE run_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO run_map SELECT other.number, run.number FROM theirs.run AS other JOIN main.run ON run.id = other.id;

INSERT OR IGNORE INTO main.converter (name) SELECT name FROM theirs.converter;
INSERT OR IGNORE INTO main.converter_version (converter_id, version, hash)
  SELECT ours.id, version, hash FROM theirs.converter_version LEFT JOIN theirs.converter AS other ON
  other.id = converter_id LEFT JOIN main.converter AS ours ON ours.name = other.name;
CREATE TEMP TABLE version_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO version_map SELECT other.id, ours.id FROM theirs.converter_version AS other JOIN theirs.converter AS named ON
  named.id = other.converter_id JOIN main.converter AS own ON own.name = named.name JOIN main.converter_version AS ours ON
  (ours.converter_id, ours.version, ours.hash) = (own.id, other.version, other.hash);

INSERT OR IGNORE INTO main.case_version (name, family, hash) SELECT name, family, hash FROM theirs.case_version;
CREATE TEMP TABLE case_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO case_map SELECT other.id, ours.id FROM theirs.case_version AS other JOIN main.case_version AS ours ON
  (ours.name, ours.hash) = (other.name, other.hash);

CREATE TEMP TABLE text_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO text_map SELECT other.id, ours.id FROM theirs.content AS other CROSS JOIN main.content AS ours ON
  ours.hash = other.hash AND ours.text = other.text GROUP BY other.id;
INSERT INTO main.content (hash, text) SELECT hash, text FROM theirs.content AS other
  WHERE id NOT IN (SELECT theirs FROM text_map) GROUP BY hash, text ORDER BY id;
INSERT OR IGNORE INTO text_map SELECT other.id, ours.id FROM theirs.content AS other CROSS JOIN main.content AS ours ON
  ours.hash = other.hash AND ours.text = other.text
  WHERE other.id NOT IN (SELECT theirs FROM text_map) GROUP BY other.id;

CREATE TEMP TABLE outcome_ours AS SELECT other.id, a.ours AS verdict, b.ours AS gate, c.ours AS stage, d.ours AS facet,
  e.ours AS node, f.ours AS op, g.ours AS reason, h.ours AS signature, i.ours AS style, j.ours AS layers,
  k.ours AS judged_as FROM theirs.outcome AS other LEFT JOIN text_map AS a ON a.theirs = verdict
  LEFT JOIN text_map AS b ON b.theirs = gate LEFT JOIN text_map AS c ON c.theirs = stage
  LEFT JOIN text_map AS d ON d.theirs = facet LEFT JOIN text_map AS e ON e.theirs = node
  LEFT JOIN text_map AS f ON f.theirs = op LEFT JOIN text_map AS g ON g.theirs = reason
  LEFT JOIN text_map AS h ON h.theirs = signature LEFT JOIN text_map AS i ON i.theirs = style
  LEFT JOIN text_map AS j ON j.theirs = layers LEFT JOIN text_map AS k ON k.theirs = judged_as;
INSERT INTO main.outcome (verdict, gate, stage, facet, node, op, reason, signature, style, layers, judged_as)
  SELECT DISTINCT verdict, gate, stage, facet, node, op, reason, signature, style, layers, judged_as FROM outcome_ours AS o
  WHERE NOT EXISTS (SELECT 1 FROM main.outcome AS m WHERE (m.reason, m.verdict, m.style, m.layers, m.node, m.op, m.gate,
    m.stage, m.facet, m.signature, m.judged_as) = (o.reason, o.verdict, o.style, o.layers, o.node, o.op, o.gate, o.stage,
    o.facet, o.signature, o.judged_as));
CREATE TEMP TABLE outcome_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO outcome_map SELECT o.id, m.id FROM outcome_ours AS o JOIN main.outcome AS m ON (m.reason, m.verdict, m.style,
    m.layers, m.node, m.op, m.gate, m.stage, m.facet, m.signature, m.judged_as) = (o.reason, o.verdict, o.style, o.layers,
    o.node, o.op, o.gate, o.stage, o.facet, o.signature, o.judged_as);

INSERT OR IGNORE INTO main.expectation (case_pattern, options, converter, versions, stage, facet, reason, url, until,
  margin) SELECT case_pattern, options, converter, versions, stage, facet, reason, url, until, margin
  FROM theirs.expectation;
CREATE TEMP TABLE expectation_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO expectation_map SELECT other.id, ours.id FROM theirs.expectation AS other JOIN main.expectation AS ours ON
  (ours.case_pattern, ours.options, ours.converter, ours.versions, ours.stage, ours.facet, ours.reason, ours.url,
  ours.until) = (other.case_pattern, other.options, other.converter, other.versions, other.stage, other.facet,
  other.reason, other.url, other.until) AND ours.margin IS other.margin;

CREATE TEMP TABLE verdict_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL, run, case_version, options, version);
INSERT INTO verdict_map SELECT other.id, (SELECT ifnull(max(id), 0) FROM main.verdict) + row_number() OVER (ORDER BY
    other.id), r.ours, c.ours, o.ours, v.ours FROM theirs.verdict AS other
  LEFT JOIN run_map AS r ON r.theirs = other.run LEFT JOIN case_map AS c ON c.theirs = other.case_version_id
  LEFT JOIN text_map AS o ON o.theirs = other.options LEFT JOIN version_map AS v ON v.theirs = other.converter_version_id
  WHERE NOT EXISTS (SELECT 1 FROM main.verdict AS m WHERE m.case_version_id = c.ours AND m.options = o.ours AND
    m.converter_version_id = v.ours AND m.run = r.ours);
)sql";

constexpr const char* kVerdicts = R"sql(
INSERT INTO main.verdict SELECT n.ours, n.run, position, n.case_version, n.options, n.version, o.ours, c.ours, u.ours,
  margin, sqnr_db, judged_outputs, seconds, started_at, e.ours FROM verdict_map AS n CROSS JOIN theirs.verdict AS other ON
  other.id = n.theirs LEFT JOIN outcome_map AS o ON o.theirs = outcome_id LEFT JOIN text_map AS c ON c.theirs = coverage
  LEFT JOIN text_map AS u ON u.theirs = unjudged LEFT JOIN expectation_map AS e ON e.theirs = expectation_id
  ORDER BY n.theirs;
)sql";

constexpr const char* kRest = R"sql(
INSERT INTO main.verdict_more SELECT n.ours, a.ours, artifact_hash, artifact_bytes, f.ours, p.ours, t.ours,
  attempt_seconds, m.ours, metric_values, q.ours FROM verdict_map AS n CROSS JOIN theirs.verdict_more AS other ON
  other.id = n.theirs LEFT JOIN text_map AS a ON a.theirs = artifact_kind LEFT JOIN text_map AS f ON f.theirs = findings
  LEFT JOIN text_map AS p ON p.theirs = other.precision LEFT JOIN text_map AS t ON t.theirs = attempts
  LEFT JOIN text_map AS m ON m.theirs = metrics LEFT JOIN text_map AS q ON q.theirs = parameters ORDER BY n.theirs;
INSERT INTO main.detail SELECT n.ours, size_bytes, packed FROM theirs.detail JOIN verdict_map AS n ON
  n.theirs = result_id;
INSERT OR IGNORE INTO main.open_job SELECT r.ours, case_name, options, converter, version, hash, position, state
  FROM theirs.open_job JOIN run_map AS r ON r.theirs = run;
DELETE FROM main.open_job WHERE run IN (SELECT ours FROM run_map) AND EXISTS (SELECT 1 FROM main.converter AS k JOIN
  main.converter_version AS v ON v.converter_id = k.id AND v.version = open_job.version AND v.hash = open_job.hash JOIN
  main.case_version AS c ON c.name = open_job.case_name JOIN main.verdict AS m ON m.case_version_id = c.id AND
  m.converter_version_id = v.id AND m.run = open_job.run JOIN main.content AS t ON t.id = m.options AND
  t.text = open_job.options WHERE k.name = open_job.converter);
INSERT INTO main.anchor (result_id, accepted_at, reason, repeats, wobble_db, parameters_wobble)
  SELECT m.id, accepted_at, reason, repeats, wobble_db, parameters_wobble FROM theirs.anchor AS a JOIN theirs.verdict AS other
  ON other.id = a.result_id JOIN run_map AS r ON r.theirs = other.run JOIN case_map AS c ON
  c.theirs = other.case_version_id JOIN text_map AS o ON o.theirs = other.options JOIN version_map AS v ON
  v.theirs = other.converter_version_id JOIN main.verdict AS m ON m.case_version_id = c.ours AND m.options = o.ours AND
  m.converter_version_id = v.ours AND m.run = r.ours WHERE NOT EXISTS (SELECT 1 FROM main.anchor AS known WHERE
    known.result_id = m.id AND known.accepted_at = a.accepted_at AND known.reason = a.reason) ORDER BY a.id;
)sql";

constexpr const char* kDropMaps = R"sql(
DROP TABLE IF EXISTS temp.run_map; DROP TABLE IF EXISTS temp.version_map; DROP TABLE IF EXISTS temp.case_map;
DROP TABLE IF EXISTS temp.text_map; DROP TABLE IF EXISTS temp.outcome_ours; DROP TABLE IF EXISTS temp.outcome_map;
DROP TABLE IF EXISTS temp.expectation_map; DROP TABLE IF EXISTS temp.verdict_map;
)sql";

constexpr const char* kDropUnused = R"sql(
CREATE TEMP TABLE used (id INTEGER PRIMARY KEY);
DELETE FROM outcome WHERE id NOT IN (SELECT outcome_id FROM verdict);
INSERT OR IGNORE INTO used SELECT options FROM verdict;
INSERT OR IGNORE INTO used SELECT coverage FROM verdict WHERE coverage NOT NULL;
INSERT OR IGNORE INTO used SELECT unjudged FROM verdict WHERE unjudged NOT NULL;
INSERT OR IGNORE INTO used SELECT artifact_kind FROM verdict_more WHERE artifact_kind NOT NULL;
INSERT OR IGNORE INTO used SELECT findings FROM verdict_more WHERE findings NOT NULL;
INSERT OR IGNORE INTO used SELECT precision FROM verdict_more WHERE precision NOT NULL;
INSERT OR IGNORE INTO used SELECT attempts FROM verdict_more WHERE attempts NOT NULL;
INSERT OR IGNORE INTO used SELECT metrics FROM verdict_more WHERE metrics NOT NULL;
INSERT OR IGNORE INTO used SELECT parameters FROM verdict_more WHERE parameters NOT NULL;
INSERT OR IGNORE INTO used SELECT verdict FROM outcome UNION SELECT gate FROM outcome UNION SELECT stage FROM outcome
  UNION SELECT facet FROM outcome UNION SELECT node FROM outcome UNION SELECT op FROM outcome UNION
  SELECT reason FROM outcome UNION SELECT signature FROM outcome UNION SELECT style FROM outcome UNION
  SELECT layers FROM outcome UNION SELECT judged_as FROM outcome;
DELETE FROM content WHERE id NOT IN (SELECT id FROM used);
DROP TABLE used;
DELETE FROM case_version WHERE id NOT IN (SELECT case_version_id FROM verdict);
DELETE FROM converter_version WHERE id NOT IN (SELECT converter_version_id FROM verdict);
DELETE FROM converter WHERE id NOT IN (SELECT converter_id FROM converter_version);
DELETE FROM expectation WHERE id NOT IN (SELECT expectation_id FROM verdict WHERE expectation_id NOT NULL);
DELETE FROM machine WHERE id NOT IN (SELECT machine_id FROM run);
)sql";

/// Theirs is beside ours for one scope.
class Attached {
 public:
  Attached(Database& database, const std::filesystem::path& theirs)
      : database_(&database), status_(database.run("ATTACH ? AS theirs", theirs.string())) {}
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() {
    (void)database_->execute(kDropMaps);
    if (status_) (void)database_->execute("DETACH theirs");
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Database* database_;
  Status status_;
};

}  // namespace

Result<Store::MergeCount> merge_database(Database& database, const std::filesystem::path& theirs) {
  constexpr const char* kRoom = "PRAGMA cache_size = -131072";
  if (auto status = database.execute(kRoom); !status) return status.error();
  const Attached attached(database, theirs);
  if (!attached.status()) return attached.status().error();
  Transaction transaction(database);
  if (!transaction.begun()) return transaction.begun().error();
  Store::MergeCount count;
  if (auto status = database.execute(kRuns); !status) return status.error();
  count.runs = static_cast<std::size_t>(database.changes());
  if (auto status = database.execute(kMaps); !status) return status.error();
  if (auto status = database.execute(kVerdicts); !status) return status.error();
  count.results = static_cast<std::size_t>(database.changes());
  if (auto status = database.execute(kRest); !status) return status.error();
  if (auto status = transaction.commit(); !status) return status.error();
  return count;
}

Status drop_unused(Database& database) { return database.execute(kDropUnused); }

}  // namespace assay::results
