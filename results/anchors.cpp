#include "results/anchors.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "results/drift.hpp"
#include "results/rows.hpp"

namespace assay::results {
namespace {

using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;

Result<std::int64_t> find_result(Database& database, const std::string& run, const JobKey& key) {
  const auto id = database.number(
      "SELECT verdict.id FROM run CROSS JOIN converter CROSS JOIN converter_version ON converter_id = converter.id "
      "CROSS JOIN content CROSS JOIN case_version CROSS JOIN verdict INDEXED BY verdict_by_series ON case_version_id = "
      "case_version.id AND verdict.options = content.id AND converter_version_id = converter_version.id AND "
      "verdict.run = run.number WHERE run.id = ? AND case_version.name = ? AND content.hash = ? AND content.text = ? "
      "AND converter.name = ? AND version = ? AND converter_version.hash = ?",
      run, key.case_name, text_hash(key.options), key.options, key.converter, key.version, key.hash);
  if (!id) return id.error();
  if (*id) return **id;
  return Error{ErrorKind::internal,
               fmt::format("results: run {} has no verdict of {} with options {} by {} {}", run, key.case_name,
                           key.options, key.converter, key.version),
               "", "", ""};
}

/// Of a verdict and what the same version did in its series before it, with the same verdict.
Result<Wobble> wobble_of(Database& database, ResultReader& reader, std::int64_t result) {
  // CROSS JOIN keeps the order: of a series only what the same version made is looked at.
  const auto ids =
      read_ids(database,
               "SELECT other.id FROM verdict AS accepted CROSS JOIN converter_version AS its ON its.id = "
               "accepted.converter_version_id CROSS JOIN converter_version AS others ON others.converter_id = "
               "its.converter_id AND others.version = its.version CROSS JOIN verdict AS other INDEXED BY "
               "verdict_by_series ON other.case_version_id = accepted.case_version_id AND other.options = "
               "accepted.options AND other.converter_version_id = others.id WHERE accepted.id = ? AND other.id <= "
               "accepted.id AND (SELECT verdict FROM outcome WHERE id = other.outcome_id) = (SELECT verdict FROM "
               "outcome WHERE id = accepted.outcome_id) ORDER BY other.id",
               result);
  if (!ids) return ids.error();
  std::vector<ResultRow> repeats;
  if (ids->size() < 2) return measure_wobble(std::vector<ResultRow>(ids->size()));
  for (const std::int64_t id : *ids) {
    auto row = reader.read(id, Children::parameters);
    if (!row) return row.error();
    repeats.push_back(*std::move(row));
  }
  return measure_wobble(repeats);
}

Result<AnchorRow> read_anchor(Database& database, ResultReader& reader, std::int64_t id) {
  AnchorRow anchor;
  anchor.id = id;
  std::int64_t result = 0;
  auto status = database.query(
      "SELECT result_id, accepted_at, reason, repeats, wobble_db, parameters_wobble FROM anchor WHERE id = ?",
      [&](const Row& row) {
        result = row.integer(0);
        anchor.accepted_at = row.text(1);
        anchor.reason = row.text(2);
        anchor.wobble = {static_cast<std::size_t>(row.integer(3)), row.real(4), row.integer(5) != 0};
      },
      id);
  if (!status) return status.error();
  auto measured = reader.read(result, Children::parameters);
  if (!measured) return measured.error();
  anchor.result = *std::move(measured);
  return anchor;
}

Status write_anchor(Database& database, std::int64_t result, const AcceptedRow& row) {
  return database.run(
      "INSERT INTO anchor (result_id, accepted_at, reason, repeats, wobble_db, parameters_wobble) VALUES (?,?,?,?,?,?)",
      result, row.accepted_at, row.reason, row.wobble.repeats, row.wobble.sqnr_db, row.wobble.parameters ? 1 : 0);
}

}  // namespace

Result<std::vector<std::int64_t>> newest_ids(Database& database, const std::string& converter,
                                             const std::string& version) {
  return read_ids(
      database,
      "SELECT newest.id FROM (SELECT verdict.id, case_version.name, options, row_number() OVER (PARTITION BY "
      "case_version.name, options ORDER BY verdict.id DESC) AS age FROM converter CROSS JOIN converter_version ON "
      "converter_id = converter.id CROSS JOIN verdict ON converter_version_id = converter_version.id CROSS JOIN "
      "case_version ON case_version.id = case_version_id WHERE converter.name = ? AND version = ?) AS newest JOIN "
      "content ON content.id = options WHERE age = 1 ORDER BY name, text",
      converter, version);
}

Status insert_anchor(Database& database, const std::string& run, const JobKey& key, const std::string& accepted_at,
                     const std::string& reason) {
  const auto result = find_result(database, run, key);
  if (!result) return result.error();
  ResultReader reader(database);
  const auto wobble = wobble_of(database, reader, *result);
  if (!wobble) return wobble.error();
  if (auto status = database.run(
          "UPDATE change SET accepted_at = ?, reason = ? WHERE accepted_at = '' AND anchor_id IN (SELECT anchor.id "
          "FROM verdict AS new JOIN converter_version AS its ON its.id = new.converter_version_id JOIN verdict AS old "
          "ON old.case_version_id = new.case_version_id AND old.options = new.options JOIN converter_version AS others "
          "ON others.id = old.converter_version_id AND others.converter_id = its.converter_id JOIN anchor ON "
          "anchor.result_id = old.id WHERE new.id = ?)",
          accepted_at, reason, *result);
      !status) {
    return status;
  }
  return write_anchor(database, *result, {key, accepted_at, reason, *wobble, 0});
}

Result<std::vector<AnchorRow>> read_anchors(Database& database) {
  const auto ids = read_ids(database,
                            "SELECT id FROM (SELECT anchor.id, row_number() OVER (PARTITION BY case_version_id, "
                            "options, converter_id ORDER BY anchor.id DESC) AS age FROM anchor CROSS JOIN verdict ON "
                            "verdict.id = result_id CROSS JOIN converter_version ON converter_version.id = "
                            "converter_version_id) WHERE age = 1 ORDER BY id");
  if (!ids) return ids.error();
  std::vector<AnchorRow> anchors;
  ResultReader reader(database);
  for (const std::int64_t id : *ids) {
    auto anchor = read_anchor(database, reader, id);
    if (!anchor) return anchor.error();
    anchors.push_back(*std::move(anchor));
  }
  return anchors;
}

Result<std::vector<AnchorRow>> read_anchors_of_version(Database& database, const std::string& converter,
                                                       const std::string& version) {
  const auto accepted = read_ids(
      database,
      "SELECT id FROM (SELECT anchor.id, row_number() OVER (PARTITION BY case_version_id, options ORDER BY anchor.id "
      "DESC) AS age FROM anchor JOIN verdict ON verdict.id = result_id JOIN converter_version ON "
      "converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id WHERE name = ? AND "
      "version = ?) WHERE age = 1 ORDER BY id",
      converter, version);
  if (!accepted) return accepted.error();
  std::vector<AnchorRow> anchors;
  ResultReader reader(database);
  for (const std::int64_t id : *accepted) {
    auto anchor = read_anchor(database, reader, id);
    if (!anchor) return anchor.error();
    anchors.push_back(*std::move(anchor));
  }
  const auto newest = newest_ids(database, converter, version);
  if (!newest) return newest.error();
  // compare_to_anchors takes the first of a series: what was accepted comes before what stands in.
  for (const std::int64_t id : *newest) {
    auto row = reader.read(id, Children::parameters);
    if (!row) return row.error();
    const auto wobble = wobble_of(database, reader, id);
    if (!wobble) return wobble.error();
    anchors.push_back({0, *std::move(row), "", "", *wobble});
  }
  return anchors;
}

Result<std::vector<ResultRow>> read_newest_results(Database& database, const std::string& converter,
                                                   const std::string& version) {
  const auto ids = newest_ids(database, converter, version);
  if (!ids) return ids.error();
  std::vector<ResultRow> rows;
  ResultReader reader(database);
  for (const std::int64_t id : *ids) {
    auto row = reader.read(id, Children::parameters);
    if (!row) return row.error();
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<std::vector<AcceptedRow>> read_accepted(Database& database, const std::string& run) {
  std::vector<AcceptedRow> rows;
  auto status = database.query(
      "SELECT case_version.name, content.text, converter.name, version, accepted_at, anchor.reason, repeats, "
      "wobble_db, parameters_wobble, converter_version.hash, anchor.id FROM anchor JOIN verdict ON verdict.id = "
      "result_id JOIN run ON run.number = verdict.run JOIN content ON content.id = verdict.options JOIN case_version "
      "ON case_version.id = case_version_id JOIN converter_version ON converter_version.id = converter_version_id JOIN "
      "converter ON converter.id = converter_id WHERE run.id = ? ORDER BY anchor.id",
      [&](const Row& row) {
        rows.push_back({{row.line(0), row.line(1), row.line(2), row.line(3), row.line(9)},
                        row.text(4),
                        row.text(5),
                        {static_cast<std::size_t>(row.integer(6)), row.real(7), row.integer(8) != 0},
                        static_cast<std::size_t>(row.integer(10))});
      },
      run);
  if (!status) return status.error();
  return rows;
}

Status merge_anchor(Database& database, const std::string& run, const AcceptedRow& row) {
  const auto result = find_result(database, run, row.key);
  if (!result) return result.error();
  const auto known =
      database.number("SELECT count(*) FROM anchor WHERE result_id = ? AND accepted_at = ? AND reason = ?", *result,
                      row.accepted_at, row.reason);
  if (!known) return known.error();
  return known->value_or(0) > 0 ? core::success() : write_anchor(database, *result, row);
}

Status insert_change(Database& database, const std::string& run, const ChangeRow& change) {
  const auto result = find_result(database, run, change.key);
  if (!result) return result.error();
  return database.run(
      "INSERT INTO change (anchor_id, result_id, kind, delta, detail, accepted_at, reason) VALUES (?,?,?,?,?,?,?)",
      change.anchor, *result, change.kind, change.delta, change.detail, change.accepted_at, change.reason);
}

Result<std::vector<ChangeRow>> read_changes(Database& database, const std::string& run) {
  std::vector<ChangeRow> changes;
  auto status = database.query(
      "SELECT case_version.name, content.text, converter.name, version, anchor_id, kind, delta, detail, accepted_at, "
      "change.reason, converter_version.hash FROM change JOIN verdict ON verdict.id = result_id JOIN run ON run.number "
      "= verdict.run JOIN content ON content.id = verdict.options JOIN case_version ON case_version.id = "
      "case_version_id JOIN converter_version ON converter_version.id = converter_version_id JOIN converter ON "
      "converter.id = converter_id WHERE run.id = ? ORDER BY change.id",
      [&](const Row& row) {
        changes.push_back({{row.line(0), row.line(1), row.line(2), row.line(3), row.line(10)},
                           row.integer(4),
                           row.text(5),
                           row.optional_real(6),
                           row.text(7),
                           row.text(8),
                           row.text(9)});
      },
      run);
  if (!status) return status.error();
  return changes;
}

}  // namespace assay::results
