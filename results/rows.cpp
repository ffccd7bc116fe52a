#include "results/rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "results/packed.hpp"

namespace assay::results {
namespace {

using core::Result;
using core::Status;
using nlohmann::json;

/// A JSON list; doubles in the shortest form that reads back exactly, NaN and infinities as strings.
std::string list_text(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) {
    const char* quote = std::isfinite(value) ? "" : "\"";
    text += fmt::format("{}{}{}{}", text.size() > 1 ? "," : "", quote, core::exact_text64(value), quote);
  }
  return text + "]";
}

std::string list_text(const std::vector<std::int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ",")); }

std::vector<double> read_reals(const std::string& text) {
  std::vector<double> values;
  for (const json& value : core::json_or_discarded<json>(text)) {
    if (value.is_number()) {
      values.push_back(value.get<double>());
    } else if (value == "NaN") {
      values.push_back(std::nan(""));
    } else {
      values.push_back(value == "-Infinity" ? -HUGE_VAL : HUGE_VAL);
    }
  }
  return values;
}

std::vector<std::int64_t> read_integers(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const json& value : core::json_or_discarded<json>(text)) {
    values.push_back(value.is_number() ? value.get<std::int64_t>() : 0);
  }
  return values;
}

/// The id of the row that `find` selects, after `insert` has made sure that there is one.
template <typename... Values>
Result<std::int64_t> intern(Database& database, const char* find, const char* insert, const Values&... values) {
  auto id = database.number(find, values...);
  if (!id) return id.error();
  if (*id) return **id;
  if (auto status = database.run(insert, values...); !status) return status.error();
  return database.last_row();
}

struct Owners {
  std::int64_t case_version = 0;
  std::int64_t converter_version = 0;
  std::optional<std::int64_t> expectation;
};

Result<Owners> intern_owners(Database& database, const ResultRow& row) {
  Owners owners;
  auto case_version =
      database.number("SELECT id FROM case_version WHERE name = ? AND hash = ?", row.key.case_name, row.case_hash);
  if (!case_version) return case_version.error();
  if (!*case_version) {
    if (auto status = database.run("INSERT INTO case_version (name, family, hash) VALUES (?,?,?)", row.key.case_name,
                                   row.family, row.case_hash);
        !status) {
      return status.error();
    }
    *case_version = database.last_row();
  }
  owners.case_version = **case_version;

  const auto converter = intern(database, "SELECT id FROM converter WHERE name = ?",
                                "INSERT INTO converter (name) VALUES (?)", row.key.converter);
  if (!converter) return converter.error();
  const auto version =
      intern(database, "SELECT id FROM converter_version WHERE converter_id = ? AND version = ? AND hash = ?",
             "INSERT INTO converter_version (converter_id, version, hash) VALUES (?,?,?)", *converter, row.key.version,
             row.key.hash);
  if (!version) return version.error();
  owners.converter_version = *version;

  if (row.expectation) {
    const ExpectationRow& e = *row.expectation;
    const auto expectation = intern(
        database,
        "SELECT id FROM expectation WHERE case_pattern = ? AND options = ? AND converter = ? AND versions = ? AND "
        "stage = ? AND facet = ? AND reason = ? AND url = ? AND until = ? AND margin IS ?",
        "INSERT INTO expectation (case_pattern, options, converter, versions, stage, facet, reason, url, until, "
        "margin) VALUES (?,?,?,?,?,?,?,?,?,?)",
        e.case_pattern, e.options, e.converter, e.versions, e.stage, e.facet, e.reason, e.url, e.until, e.margin);
    if (!expectation) return expectation.error();
    owners.expectation = *expectation;
  }
  return owners;
}

/// Inserts one child row for each of `rows`, numbered by its position.
template <typename T, typename Insert>
Status insert_children(const std::vector<T>& rows, Insert insert) {
  for (std::size_t position = 0; position < rows.size(); ++position) {
    if (auto status = insert(position, rows[position]); !status) return status;
  }
  return core::success();
}

Status insert_all_children(Database& database, std::int64_t id, const ResultRow& row) {
  auto status = insert_children(row.findings, [&](std::size_t position, const FindingRow& f) {
    return database.run("INSERT INTO finding VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", id, position, f.stage, f.facet, f.node,
                        f.op, f.tensor, f.data_set, f.layer, f.message, f.margin, f.amber);
  });
  if (!status) return status;
  status = insert_children(row.metrics, [&](std::size_t position, const MetricRow& m) {
    return database.run("INSERT INTO metric VALUES (?,?,?,?,?,?)", id, position, m.tensor, m.data_set, m.name, m.value);
  });
  if (!status) return status;
  status = insert_children(row.parameters, [&](std::size_t position, const ParameterRow& p) {
    return database.run("INSERT INTO parameter VALUES (?,?,?,?,?,?,?,?)", id, position, p.tensor,
                        list_text(p.params.scale), list_text(p.params.zero_point), core::dtype_name(p.params.type),
                        p.params.axis, p.params.block);
  });
  if (!status) return status;
  status = insert_children(row.precision, [&](std::size_t position, const PrecisionRow& p) {
    return database.run("INSERT INTO precision VALUES (?,?,?,?,?)", id, position, p.node, p.op, p.got);
  });
  if (!status) return status;
  status = insert_children(row.attempts, [&](std::size_t position, const AttemptRow& a) {
    return database.run("INSERT INTO attempt VALUES (?,?,?,?,?,?,?)", id, position, a.request, a.number, a.outcome,
                        a.reason, a.seconds);
  });
  if (!status) return status;
  status = insert_children(row.coverage, [&](std::size_t position, const CoverageRow& c) {
    return database.run("INSERT INTO coverage VALUES (?,?,?,?,?)", id, position, c.op, c.nodes, c.judged);
  });
  if (!status) return status;
  status = insert_children(row.unjudged, [&](std::size_t position, const UnjudgedRow& u) {
    return database.run("INSERT INTO unjudged VALUES (?,?,?,?,?)", id, position, u.node, u.op, u.reason);
  });
  if (!status || row.detail.empty()) return status;
  const auto stream = pack(row.detail);
  if (!stream) return stream.error();
  return database.run("INSERT INTO detail VALUES (?,?,?)", id, row.detail.size(), Blob{*stream});
}

constexpr const char* kResultColumns =
    "SELECT result.id, case_version.name, result.options, converter.name, converter_version.version, family, "
    "case_version.hash, converter_version.hash, verdict, gate, stage, facet, node, op, reason, signature, style, "
    "layers, margin, sqnr_db, seconds, started_at, artifact.kind, artifact.hash, artifact.size_bytes, "
    "expectation_id, judged_outputs, judged_as FROM result JOIN case_version ON case_version.id = case_version_id JOIN "
    "converter_version ON "
    "converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id LEFT JOIN artifact ON "
    "artifact.result_id = result.id ";
constexpr const char* kInPlannedOrder =
    "LEFT JOIN job ON job.run_id = result.run_id AND job.case_name = case_version.name AND job.options = "
    "result.options AND job.converter = converter.name AND job.version = converter_version.version AND job.hash = "
    "converter_version.hash WHERE result.run_id "
    "= ? ORDER BY job.position, result.id";

/// A verdict with the numbers by which the rest of it is found.
struct Found {
  std::int64_t id = 0;
  std::optional<std::int64_t> expectation;
  ResultRow row;
};

Found read_result(const Row& row) {
  Found found;
  found.id = row.integer(0);
  if (!row.null(25)) found.expectation = row.integer(25);
  ResultRow& r = found.row;
  r.key = {row.line(1), row.line(2), row.line(3), row.line(4), row.line(7)};
  r.family = row.line(5);
  r.case_hash = row.line(6);
  r.verdict = row.line(8);
  r.gate = row.line(9);
  r.stage = row.line(10);
  r.facet = row.line(11);
  r.node = row.text(12);
  r.op = row.text(13);
  r.reason = row.text(14);
  r.signature = row.text(15);
  r.style = row.line(16);
  r.layers = row.line(17);
  r.margin = row.optional_real(18);
  r.sqnr_db = row.optional_real(19);
  r.seconds = row.real(20);
  r.started_at = row.line(21);
  r.artifact_kind = row.line(22);
  r.artifact_hash = row.line(23);
  r.artifact_bytes = static_cast<std::size_t>(row.integer(24));
  r.judged_outputs = row.optional_real(26);
  r.judged_as = row.line(27);
  return found;
}

Status read_parameters(Database& database, std::int64_t id, ResultRow& out) {
  return database.query(
      "SELECT tensor, scale, zero_point, type, axis, block FROM parameter WHERE result_id = ?",
      [&](const Row& row) {
        ParameterRow p{row.text(0), {read_reals(row.text(1)), read_integers(row.text(2)), {}, {}}};
        p.params.type = core::parse_dtype(row.text(3)).value_or(core::DType::undefined);
        if (!row.null(4)) p.params.axis = row.integer(4);
        p.params.block = row.integer(5);
        out.parameters.push_back(std::move(p));
      },
      id);
}

Status read_coverage(Database& database, std::int64_t id, ResultRow& out) {
  auto status = database.query(
      "SELECT op, nodes, judged FROM coverage WHERE result_id = ?",
      [&](const Row& row) {
        out.coverage.push_back(
            {row.text(0), static_cast<std::size_t>(row.integer(1)), static_cast<std::size_t>(row.integer(2))});
      },
      id);
  if (!status) return status;
  return database.query(
      "SELECT node, op, reason FROM unjudged WHERE result_id = ?",
      [&](const Row& row) {
        out.unjudged.push_back({row.text(0), row.text(1), row.text(2)});
      },
      id);
}

Status read_detail(Database& database, std::int64_t id, std::string& out) {
  std::string stream;
  std::size_t size = 0;
  auto status = database.query(
      "SELECT size_bytes, packed FROM detail WHERE result_id = ?",
      [&](const Row& row) {
        size = static_cast<std::size_t>(row.integer(0));
        stream = row.blob(1);
      },
      id);
  if (!status || stream.empty()) return status;
  auto text = unpack(stream, size);
  if (!text) return text.error();
  out = *std::move(text);
  return status;
}

Status read_children(Database& database, Found& found) {
  const std::int64_t id = found.id;
  ResultRow& out = found.row;
  auto status = database.query(
      "SELECT stage, facet, node, op, tensor, data_set, layer, message, margin, amber FROM finding WHERE result_id = ?",
      [&](const Row& row) {
        out.findings.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5),
                                row.text(6), row.text(7), row.real(8), row.integer(9) != 0});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT tensor, data_set, name, value FROM metric WHERE result_id = ?",
      [&](const Row& row) {
        out.metrics.push_back({row.text(0), row.text(1), row.text(2), row.real(3)});
      },
      id);
  if (!status) return status;
  status = read_parameters(database, id, out);
  if (!status) return status;
  status = database.query(
      "SELECT node, op, got FROM precision WHERE result_id = ?",
      [&](const Row& row) {
        out.precision.push_back({row.text(0), row.text(1), row.text(2)});
      },
      id);
  if (!status) return status;
  status = database.query(
      "SELECT request, number, outcome, reason, seconds FROM attempt WHERE result_id = ?",
      [&](const Row& row) {
        out.attempts.push_back({row.text(0), static_cast<int>(row.integer(1)), row.text(2), row.text(3), row.real(4)});
      },
      id);
  if (!status) return status;
  status = read_coverage(database, id, out);
  if (status) status = read_detail(database, id, out.detail);
  if (!status || !found.expectation) return status;
  return database.query(
      "SELECT case_pattern, options, converter, versions, stage, facet, reason, url, until, margin FROM expectation "
      "WHERE id = ?",
      [&](const Row& row) {
        out.expectation = ExpectationRow{row.text(0), row.text(1), row.text(2), row.text(3), row.text(4),
                                         row.text(5), row.text(6), row.text(7), row.text(8), row.optional_real(9)};
      },
      *found.expectation);
}

}  // namespace

std::size_t ResultRow::nodes() const {
  std::size_t sum = 0;
  for (const CoverageRow& row : coverage) sum += row.nodes;
  return sum;
}

std::size_t ResultRow::judged_nodes() const {
  std::size_t sum = 0;
  for (const CoverageRow& row : coverage) sum += row.judged;
  return sum;
}

Status insert_result(Database& database, const std::string& run, const ResultRow& row) {
  const auto owners = intern_owners(database, row);
  if (!owners) return owners.error();
  if (auto status = database.run(
          "INSERT INTO result (run_id, case_version_id, converter_version_id, options, verdict, gate, stage, facet, "
          "node, op, reason, signature, style, layers, margin, sqnr_db, seconds, started_at, expectation_id, "
          "judged_outputs, judged_as) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
          run, owners->case_version, owners->converter_version, row.key.options, row.verdict, row.gate, row.stage,
          row.facet, row.node, row.op, row.reason, row.signature, row.style, row.layers, row.margin, row.sqnr_db,
          row.seconds, row.started_at, owners->expectation, row.judged_outputs, row.judged_as);
      !status) {
    return status;
  }
  const std::int64_t id = database.last_row();
  if (!row.artifact_kind.empty()) {
    if (auto status = database.run("INSERT INTO artifact VALUES (?,?,?,?)", id, row.artifact_kind, row.artifact_hash,
                                   row.artifact_bytes);
        !status) {
      return status;
    }
  }
  return insert_all_children(database, id, row);
}

Status each_result(Database& database, const std::string& run, const std::string& case_pattern,
                   const std::function<void(std::int64_t id, ResultRow row)>& take) {
  static const std::string sql = std::string(kResultColumns) + kInPlannedOrder;
  std::vector<Found> all;
  auto status = database.query(
      sql.c_str(),
      [&](const Row& row) {
        if (core::glob_match(case_pattern, row.text(1))) all.push_back(read_result(row));
      },
      run);
  if (!status) return status;
  for (Found& found : all) {
    if (auto read = read_children(database, found); !read) return read;
    take(found.id, std::move(found.row));
  }
  return core::success();
}

Result<std::vector<ResultRow>> read_results(Database& database, const std::string& run,
                                            const std::string& case_pattern) {
  std::vector<ResultRow> rows;
  auto status = each_result(database, run, case_pattern,
                            [&](std::int64_t /*id*/, ResultRow row) { rows.push_back(std::move(row)); });
  if (!status) return status.error();
  return rows;
}

Result<ResultRow> read_measurement(Database& database, std::int64_t id) {
  static const std::string sql = std::string(kResultColumns) + "WHERE result.id = ?";
  std::optional<Found> found;
  auto status = database.query(
      sql.c_str(), [&](const Row& row) { found = read_result(row); }, id);
  if (status && found) status = read_parameters(database, id, found->row);
  if (!status) return status.error();
  if (found) return std::move(found->row);
  return core::Error{core::ErrorKind::internal, fmt::format("results: there is no verdict {}", id), "", "", ""};
}

}  // namespace assay::results
