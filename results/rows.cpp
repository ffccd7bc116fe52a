#include "results/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "results/lists.hpp"
#include "results/packed.hpp"

namespace assay::results {
namespace {

using core::Result;
using core::Status;

/// Numbers of the texts of one verdict, in the order of the columns of verdict_more.
struct More {
  std::optional<std::int64_t> artifact_kind, findings, precision, attempts, metrics, parameters;
};

template <typename Target>
Status put(Interned& interned, std::string_view text, Target& target) {
  const auto id = interned.optional_text(text);
  if (!id) return id.error();
  target = *id;
  return core::success();
}

Status insert_more(Database& database, Interned& interned, std::int64_t id, const ResultRow& row) {
  More more;
  for (const auto& [text, target] : {std::pair(row.artifact_kind, &more.artifact_kind),
                                     {findings_text(row.findings), &more.findings},
                                     {precision_text(row.precision), &more.precision},
                                     {attempts_text(row.attempts), &more.attempts},
                                     {metric_names_text(row.metrics), &more.metrics},
                                     {parameters_text(row.parameters), &more.parameters}}) {
    if (auto status = put(interned, text, *target); !status) return status;
  }
  std::optional<std::string> seconds, values, digits;
  std::optional<std::size_t> artifact_bytes;
  if (!row.attempts.empty()) seconds = attempt_seconds_text(row.attempts);
  if (!row.metrics.empty()) values = metric_values_text(row.metrics);
  std::string hash;
  std::optional<Blob> short_hash;
  if (more.artifact_kind) {
    artifact_bytes = row.artifact_bytes;
    hash = hash_bytes(row.artifact_hash);
    if (hash.empty()) {
      digits = row.artifact_hash;
    } else {
      short_hash = Blob{hash};
    }
  }
  constexpr const char* kWithText =
      "INSERT INTO verdict_more (id, artifact_kind, artifact_hash, artifact_bytes, findings, precision, attempts, "
      "attempt_seconds, metrics, metric_values, parameters) VALUES (?,?,coalesce(?,?),?,?,?,?,?,?,?,?)";
  if (auto status = database.run(kWithText, id, more.artifact_kind, short_hash, digits, artifact_bytes, more.findings,
                                 more.precision, more.attempts, seconds, more.metrics, values, more.parameters);
      !status) {
    return status;
  }
  if (row.detail.empty()) return core::success();
  const auto stream = pack(row.detail);
  if (!stream) return stream.error();
  return database.run("INSERT INTO detail VALUES (?,?,?)", id, row.detail.size(), Blob{*stream});
}

constexpr const char* kVerdict =
    "SELECT case_version.name, options, converter.name, version, converter_version.hash, family, case_version.hash, "
    "outcome_id, coverage, unjudged, margin, sqnr_db, judged_outputs, seconds, started_at, expectation_id, "
    "artifact_kind, artifact_hash, artifact_bytes, findings, precision, attempts, attempt_seconds, metrics, "
    "metric_values, parameters FROM verdict JOIN case_version ON case_version.id = case_version_id JOIN "
    "converter_version ON converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id "
    "JOIN verdict_more ON verdict_more.id = verdict.id WHERE verdict.id = ?";

std::optional<std::int64_t> optional_integer(const Row& row, int column) {
  return row.null(column) ? std::nullopt : std::optional(row.integer(column));
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

}  // namespace

struct ResultReader::State {
  /// The words of an outcome.
  struct Words {
    std::string verdict, gate, stage, facet, node, op, reason, signature, style, layers, judged_as;
  };

  /// A verdict with the numbers by which the rest of it is found.
  struct Found {
    ResultRow row;
    std::int64_t options = 0, outcome = 0;
    std::optional<std::int64_t> expectation, coverage, unjudged, artifact_kind, findings, precision, attempts, metrics,
        parameters;
    std::string attempt_seconds, metric_values;
  };

  static void read_found(const Row& row, Found& found) {
    ResultRow& r = found.row;
    r.key = {row.line(0), "", row.line(2), row.line(3), row.line(4)};
    found.options = row.integer(1);
    r.family = row.line(5);
    r.case_hash = row.line(6);
    found.outcome = row.integer(7);
    found.coverage = optional_integer(row, 8);
    found.unjudged = optional_integer(row, 9);
    r.margin = row.optional_real(10);
    r.sqnr_db = row.optional_real(11);
    r.judged_outputs = row.optional_real(12);
    r.seconds = row.real(13);
    r.started_at = row.is_integer(14) ? time_text(row.integer(14)) : row.line(14);
    found.expectation = optional_integer(row, 15);
    found.artifact_kind = optional_integer(row, 16);
    r.artifact_hash = row.is_blob(17) ? hash_digits(row.blob(17)) : row.line(17);
    r.artifact_bytes = static_cast<std::size_t>(row.integer(18));
    found.findings = optional_integer(row, 19);
    found.precision = optional_integer(row, 20);
    found.attempts = optional_integer(row, 21);
    found.attempt_seconds = row.raw(22);
    found.metrics = optional_integer(row, 23);
    found.metric_values = row.raw(24);
    found.parameters = optional_integer(row, 25);
  }

  explicit State(Database& database_) : database(&database_) {}
  Database* database;
  std::unordered_map<std::int64_t, std::string> texts;
  std::unordered_map<std::int64_t, Words> outcomes;
  std::unordered_map<std::int64_t, std::vector<ParameterRow>> parameters;
  std::unordered_map<std::int64_t, std::vector<CoverageRow>> coverages;

  Result<const std::string*> text(std::int64_t id) {
    const auto [place, added] = texts.try_emplace(id);
    if (!added) return &place->second;
    std::string& text = place->second;
    bool any = false;
    auto status = database->query(
        "SELECT text FROM content WHERE id = ?",
        [&](const Row& row) {
          text = row.raw(0);
          any = true;
        },
        id);
    if (!status) return status.error();
    if (!any) return database->dangling(fmt::format("text {} is missing", id));
    return &text;
  }

  Result<const Words*> outcome(std::int64_t id) {
    const auto [place, added] = outcomes.try_emplace(id);
    if (!added) return &place->second;
    Words& w = place->second;
    const std::array targets{&w.verdict, &w.gate,      &w.stage, &w.facet,  &w.node,     &w.op,
                             &w.reason,  &w.signature, &w.style, &w.layers, &w.judged_as};
    std::array<std::int64_t, targets.size()> numbers{};
    bool any = false;
    auto status = database->query(
        "SELECT verdict, gate, stage, facet, node, op, reason, signature, style, layers, judged_as FROM outcome WHERE "
        "id = ?",
        [&](const Row& row) {
          for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = row.integer(static_cast<int>(i));
          any = true;
        },
        id);
    if (!status) return status.error();
    if (!any) return database->dangling(fmt::format("outcome {} is missing", id));
    const std::array several_lines{&w.node, &w.op, &w.reason, &w.signature};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto found = text(numbers[i]);
      if (!found) return found.error();
      *targets[i] = core::visible_text(**found);
      if (std::ranges::find(several_lines, targets[i]) == several_lines.end()) {
        *targets[i] = core::visible_line(*targets[i]);
      }
    }
    return &w;
  }

  template <typename List, typename Reader>
  Status list(std::optional<std::int64_t> id, List& out, Reader parse) {
    if (!id) return core::success();
    const auto found = text(*id);
    if (!found) return found.error();
    out = parse(**found);
    return core::success();
  }

  /// A list that many verdicts share is parsed once.
  template <typename List, typename Reader>
  Status shared_list(std::unordered_map<std::int64_t, List>& known, std::optional<std::int64_t> id, List& out,
                     Reader parse) {
    if (!id) return core::success();
    const auto [place, added] = known.try_emplace(*id);
    if (added) {
      if (auto status = list(id, place->second, parse); !status) return status;
    }
    out = place->second;
    return core::success();
  }

  Status read_all(Found& found, std::int64_t id) {
    ResultRow& row = found.row;
    auto status = list(found.findings, row.findings, read_findings);
    if (status) status = list(found.precision, row.precision, read_precision);
    if (status) {
      status = list(found.attempts, row.attempts,
                    [&](std::string_view text) { return read_attempts(text, found.attempt_seconds); });
    }
    if (status) {
      status = list(found.metrics, row.metrics,
                    [&](std::string_view text) { return read_metrics(text, found.metric_values); });
    }
    if (status) status = read_detail(*database, id, row.detail);
    if (!status || !found.expectation) return status;
    return database->query(
        "SELECT case_pattern, options, converter, versions, stage, facet, reason, url, until, margin FROM expectation "
        "WHERE id = ?",
        [&](const Row& each) {
          row.expectation =
              ExpectationRow{each.text(0), each.text(1), each.text(2), each.text(3), each.text(4),
                             each.text(5), each.text(6), each.text(7), each.text(8), each.optional_real(9)};
        },
        *found.expectation);
  }

  Result<ResultRow> read(std::int64_t id, Children children) {
    Found found;
    bool any = false;
    auto status = database->query(
        kVerdict,
        [&](const Row& row) {
          read_found(row, found);
          any = true;
        },
        id);
    if (!status) return status.error();
    if (!any) return database->dangling(fmt::format("verdict {} or what it refers to is missing", id));
    ResultRow& row = found.row;
    const auto options = text(found.options);
    if (!options) return options.error();
    row.key.options = core::visible_line(**options);
    const auto words = outcome(found.outcome);
    if (!words) return words.error();
    const Words& w = **words;
    row.verdict = w.verdict, row.gate = w.gate, row.stage = w.stage, row.facet = w.facet, row.node = w.node;
    row.op = w.op, row.reason = w.reason, row.signature = w.signature, row.style = w.style, row.layers = w.layers;
    row.judged_as = w.judged_as;
    if (found.artifact_kind) {
      const auto kind = text(*found.artifact_kind);
      if (!kind) return kind.error();
      row.artifact_kind = core::visible_line(**kind);
    }
    status = shared_list(parameters, found.parameters, row.parameters, read_parameters);
    if (status) status = shared_list(coverages, found.coverage, row.coverage, read_coverage);
    if (status) status = list(found.unjudged, row.unjudged, read_unjudged);
    if (status && children == Children::all) status = read_all(found, id);
    if (!status) return status.error();
    return std::move(row);
  }
};

ResultReader::ResultReader(Database& database) : state_(std::make_unique<State>(database)) {}
ResultReader::~ResultReader() = default;

Result<ResultRow> ResultReader::read(std::int64_t id, Children children) { return state_->read(id, children); }

Result<const std::string*> ResultReader::text(std::optional<std::int64_t> id) {
  static const std::string kNone;
  if (!id) return &kNone;
  return state_->text(*id);
}

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

Status insert_result(Database& database, Interned& interned, std::int64_t run, std::optional<std::int64_t> position,
                     const ResultRow& row) {
  const auto case_version = interned.case_version(row);
  if (!case_version) return case_version.error();
  const auto converter = interned.converter_version(row.key);
  if (!converter) return converter.error();
  const auto options = interned.text(row.key.options);
  if (!options) return options.error();
  const auto outcome = interned.outcome(row);
  if (!outcome) return outcome.error();
  std::optional<std::int64_t> expectation, coverage, unjudged;
  if (row.expectation) {
    const auto id = interned.expectation(*row.expectation);
    if (!id) return id.error();
    expectation = *id;
  }
  if (auto status = put(interned, coverage_text(row.coverage), coverage); !status) return status;
  if (auto status = put(interned, unjudged_text(row.unjudged), unjudged); !status) return status;
  const std::optional<std::int64_t> started = milliseconds_of(row.started_at);
  std::optional<std::string> started_text;
  if (!started) started_text = row.started_at;
  if (auto status = database.run(
          "INSERT INTO verdict (run, position, case_version_id, options, converter_version_id, outcome_id, coverage, "
          "unjudged, margin, sqnr_db, judged_outputs, seconds, started_at, expectation_id) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,coalesce(?,?),?)",
          run, position, *case_version, *options, *converter, *outcome, coverage, unjudged, row.margin, row.sqnr_db,
          row.judged_outputs, row.seconds, started, started_text, expectation);
      !status) {
    return status;
  }
  return insert_more(database, interned, database.last_row(), row);
}

Status each_result(Database& database, const std::string& run,
                   const std::function<void(std::int64_t id, ResultRow row)>& take) {
  const Snapshot snapshot(database);
  if (!snapshot.begun()) return snapshot.begun();
  const auto ids = read_ids(database,
                            "SELECT verdict.id FROM run JOIN verdict ON verdict.run = run.number WHERE run.id = ? "
                            "ORDER BY position, verdict.id",
                            run);
  if (!ids) return ids.error();
  ResultReader reader(database);
  for (const std::int64_t id : *ids) {
    auto row = reader.read(id, Children::all);
    if (!row) return row.error();
    take(id, *std::move(row));
  }
  return core::success();
}

Result<std::vector<ResultRow>> read_results(Database& database, const std::string& run) {
  std::vector<ResultRow> rows;
  auto status = each_result(database, run, [&](std::int64_t /*id*/, ResultRow row) { rows.push_back(std::move(row)); });
  if (!status) return status.error();
  return rows;
}

}  // namespace assay::results
