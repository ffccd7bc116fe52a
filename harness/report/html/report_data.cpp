#include "harness/report/html/report_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "harness/core/json.hpp"
#include "harness/core/version.hpp"
#include "harness/report/html/columns.hpp"
#include "harness/report/html/encoded.hpp"
#include "results/cause.hpp"
#include "results/drift.hpp"
#include "results/signature.hpp"

namespace assay::report {
namespace {

using nlohmann::ordered_json;
using results::AnchorRow;
using results::Change;
using results::ResultRow;
using results::RunInfo;

/// Case content, options and converter: what has one verdict for each version.
using Series = std::tuple<std::string, std::string, std::string, std::string>;
Series series_of(const ResultRow& row) {
  return {row.key.case_name, row.case_hash, row.key.options, row.key.converter};
}

struct VersionOrder {
  bool operator()(const std::pair<std::string, std::string>& a, const std::pair<std::string, std::string>& b) const {
    if (a.first != b.first) return a.first < b.first;
    return core::version_less(a.second, b.second);
  }
};

/// Numbers as JSON holds them here, see json_number().
ordered_json number(double value) { return core::json_or_discarded<ordered_json>(json_number(value)); }
std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string coverage_text(const ResultRow& row) {
  std::string text;
  for (const results::CoverageRow& op : row.coverage) {
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : "\n", op.op, op.judged, op.nodes);
  }
  return text;
}

/// What a case's page shows beside the table's columns, as JSON.
std::string children_json(const ResultRow& row) {
  std::string text;
  const auto list = [&](const char* name, const auto& rows, const auto& write) {
    if (rows.empty()) return;
    text += fmt::format("{}\"{}\":[", text.empty() ? "{" : ",", name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      text += i == 0 ? "[" : ",[";
      write(rows[i]);
      text += "]";
    }
    text += "]";
  };
  const auto words = [&](std::initializer_list<std::string_view> all) {
    bool first = true;
    for (const std::string_view word : all) {
      text += (first ? "" : ",") + json_string(word);
      first = false;
    }
  };
  list("findings", row.findings, [&](const results::FindingRow& f) {
    words({f.stage, f.facet, f.node, f.op, f.tensor, f.data_set, f.layer, f.message});
    text += fmt::format(",{},{}", json_number(f.margin), f.amber ? 1 : 0);
  });
  list("metrics", row.metrics, [&](const results::MetricRow& m) {
    words({m.tensor, m.data_set, m.name});
    text += "," + json_number(m.value);
  });
  list("parameters", row.parameters, [&](const results::ParameterRow& p) {
    words({p.tensor, core::dtype_name(p.params.type)});
    text += "," + (p.params.axis ? std::to_string(*p.params.axis) : "null") + ",[";
    for (std::size_t i = 0; i < p.params.scale.size(); ++i) {
      text += (i == 0 ? "" : ",") + json_number(p.params.scale[i]);
    }
    text += fmt::format("],[{}]", fmt::join(p.params.zero_point, ","));
  });
  list("precision", row.precision, [&](const results::PrecisionRow& p) { words({p.node, p.op, p.got}); });
  list("attempts", row.attempts, [&](const results::AttemptRow& a) {
    words({a.request, std::to_string(a.number), a.outcome, a.reason});
    text += "," + json_number(a.seconds);
  });
  list("unjudged", row.unjudged, [&](const results::UnjudgedRow& u) { words({u.node, u.op, u.reason}); });
  return text.empty() ? "{}" : text + "}";
}

/// Collects a database's verdicts in the order of their runs.
class Builder {
 public:
  explicit Builder(const HtmlScope& scope) : scope_(scope), columns_(strings_) {}

  void plan(const RunInfo& run, const results::Store::JobCounts& jobs) {
    ordered_json json;
    json["id"] = run.id;
    json["command"] = run.command;
    json["suite"] = run.suite;
    json["started_at"] = run.started_at;
    json["finished_at"] = run.finished_at;
    json["assay_version"] = run.assay_version;
    json["machine"] = fmt::format("{}, {} cores, {}{}{}", run.machine.cpu, run.machine.cores, run.machine.system,
                                  run.machine.accelerators.empty() ? "" : ", ", run.machine.accelerators);
    json["done"] = jobs.done;
    json["started"] = jobs.started;
    json["waiting"] = jobs.waiting;
    run_places_.emplace(run.id, runs_.size());
    runs_.push_back(std::move(json));
  }

  /// What was measured of Assay itself.
  void measured(const std::vector<results::Store::ScoreRow>& scores) {
    for (const results::Store::ScoreRow& score : scores) {
      auto json = core::json_or_discarded<ordered_json>(score.json);
      if (!json.is_object()) continue;
      scores_.push_back({{"command", score.command}, {"made_at", score.made_at}, {"measured", std::move(json)}});
    }
  }

  /// A version that the page counts and of which it holds no verdict.
  void count(const results::Store::NewestVerdicts& all, const results::Store::NewestVerdicts::Version& version) {
    std::map<std::string, std::size_t> verdicts;
    for (const results::Store::Alike& alike : version.alike) {
      verdicts[all.kinds[alike.kind].verdict] += alike.cases.size();
    }
    older_.push_back({version.converter, version.version, verdicts});
  }

  [[nodiscard]] bool in_scope(const std::string& converter) const {
    return scope_.converters.empty() || std::ranges::find(scope_.converters, converter) != scope_.converters.end();
  }

  core::Status add(const std::string& run, ResultRow row) {
    if (!in_scope(row.key.converter)) return core::success();
    for (const results::UnjudgedRow& node : row.unjudged) {
      ++unjudged_[node.op][results::without_numbers_and_paths(node.reason.substr(0, node.reason.find('\n')))];
    }
    if (!row.detail.empty()) {
      auto bytes = packed(row.detail);
      if (!bytes) return bytes.error();
      data_.parts.emplace_back(fmt::format("d{}", rows_.size()), *std::move(bytes));
      row.detail.clear();
    }
    const auto place = run_places_.find(run);
    if (place == run_places_.end()) return core::success();  // it began after the runs were read
    part_ += (part_.empty() ? "[" : ",") + children_json(row);
    if (rows_.size() % kPartRows == kPartRows - 1) {
      if (auto status = close_part(); !status) return status;
    }
    row.findings.clear();
    row.metrics.clear();
    row.attempts.clear();
    row.precision.clear();
    row.unjudged.clear();
    run_of_.push_back(place->second);
    rows_.push_back(std::move(row));
    return core::success();
  }

  core::Result<ReportData> finish(const std::vector<AnchorRow>& anchors) {
    if (rows_.empty()) {
      return core::Error{core::ErrorKind::usage, "the database holds no verdict to report on", "", "", ""};
    }
    if (auto status = close_part(); !status) return status.error();
    number_versions();
    for (std::size_t i = 0; i < rows_.size(); ++i) add_columns(i);
    ordered_json head;
    head["made_at"] = results::utc_now();
    head["assay"] = scope_.assay;
    head["database"] = scope_.database;
    head["part_rows"] = kPartRows;
    head["runs"] = runs_;
    head["versions"] = ordered_json::array();
    for (const auto& [version, number] : versions_) head["versions"].push_back({version.first, version.second});
    head["older"] = older_;
    head["expectations"] = expectations_;
    head["anchors"] = anchors_json(anchors);
    head["changes"] = changes_json();
    head["unjudged"] = unjudged_json();
    head["scores"] = scores_;
    std::string text = dumped(head);
    text.back() = ',';
    data_.table = text + "\"strings\":" + strings_.json() + ",\"columns\":" + columns_.json() + "}";
    return std::move(data_);
  }

 private:
  const HtmlScope& scope_;
  Strings strings_;
  Columns columns_;
  ReportData data_;
  std::string part_;
  std::size_t closed_ = 0;  ///< parts of children
  std::vector<ResultRow> rows_;
  std::vector<std::size_t> run_of_;
  std::map<std::pair<std::string, std::string>, std::size_t, VersionOrder> versions_;
  std::map<std::pair<Series, std::string>, std::size_t> newest_;  ///< of a series by a version: the row
  ordered_json runs_ = ordered_json::array(), expectations_ = ordered_json::array(), scores_ = ordered_json::array(),
               older_ = ordered_json::array();
  std::map<std::string, std::size_t> run_places_;
  std::map<std::string, std::size_t> expectation_numbers_;
  std::map<std::string, std::map<std::string, std::size_t>> unjudged_;  ///< nodes by operator and reason

  core::Status close_part() {
    if (part_.empty()) return core::success();
    auto bytes = packed(part_ + "]");
    if (!bytes) return bytes.error();
    data_.parts.emplace_back(fmt::format("p{}", closed_++), *std::move(bytes));
    part_.clear();
    return core::success();
  }

  /// Of each operator the commonest reason why a node was not judged: [operator, reason, nodes].
  [[nodiscard]] ordered_json unjudged_json() const {
    ordered_json all = ordered_json::array();
    for (const auto& [op, reasons] : unjudged_) {
      const auto most = std::ranges::max_element(reasons, {}, [](const auto& each) { return each.second; });
      all.push_back({op, most->first, most->second});
    }
    return all;
  }

  void number_versions() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      versions_.try_emplace({rows_[i].key.converter, rows_[i].key.version}, 0);
      newest_[{series_of(rows_[i]), rows_[i].key.version}] = i;
    }
    std::size_t next = 0;
    for (auto& [version, number] : versions_) number = next++;
  }

  std::int64_t expectation_number(const ResultRow& row) {
    if (!row.expectation) return -1;
    const results::ExpectationRow& e = *row.expectation;
    ordered_json json{{"pattern", e.case_pattern}, {"options", e.options}, {"converter", e.converter},
                      {"versions", e.versions},    {"stage", e.stage},     {"facet", e.facet},
                      {"reason", e.reason},        {"url", e.url},         {"until", e.until}};
    const auto [place, added] = expectation_numbers_.try_emplace(dumped(json), expectations_.size());
    if (added) expectations_.push_back(std::move(json));
    return static_cast<std::int64_t>(place->second);
  }

  void add_columns(std::size_t i) {
    const ResultRow& row = rows_[i];
    columns_.text("case", row.key.case_name);
    columns_.text("options", row.key.options);
    columns_.whole("version", static_cast<std::int64_t>(versions_.at({row.key.converter, row.key.version})));
    columns_.text("program", row.key.hash);
    columns_.whole("run", static_cast<std::int64_t>(run_of_[i]));
    columns_.text("family", row.family);
    columns_.text("content", row.case_hash);
    columns_.text("verdict", row.verdict);
    columns_.text("gate", row.gate);
    columns_.text("stage", row.stage);
    columns_.text("facet", row.facet);
    columns_.text("node", row.node);
    columns_.text("op", row.op);
    columns_.text("reason", row.reason);
    columns_.text("cause", row.verdict == "pass" ? "" : results::cause_of(row));
    columns_.text("style", row.style);
    columns_.text("layers", row.layers);
    columns_.text("artifact", row.artifact_kind);
    columns_.text("judged_as", row.judged_as);
    columns_.text("coverage", coverage_text(row));
    columns_.whole("expectation", expectation_number(row));
    columns_.real("margin", row.margin);
    columns_.real("sqnr", row.sqnr_db);
    columns_.real("judged_outputs", row.judged_outputs);
    columns_.real("seconds", row.seconds);
    columns_.text("started_at", row.started_at);
    columns_.whole("newest", newest_.at({series_of(row), row.key.version}) == i ? 1 : 0);
  }

  static ordered_json change_json(std::size_t from, std::size_t to, const std::vector<Change>& changes) {
    ordered_json list = ordered_json::array();
    for (const Change& change : changes) {
      list.push_back({results::change_name(change.kind), change.delta ? number(*change.delta) : ordered_json(nullptr),
                      change.detail});
    }
    return {from, to, std::move(list)};
  }

  /// What the newest verdicts of a version differ in from those of the version before, by the rules of drift: pairs of
  /// rows. A version without the series is passed over.
  [[nodiscard]] ordered_json changes_json() const {
    std::map<Series, std::map<std::size_t, std::size_t>> series;
    for (const auto& [key, row] : newest_) {
      if (!results::comparable(rows_[row])) continue;
      series[key.first][versions_.at({std::get<3>(key.first), key.second})] = row;
    }
    ordered_json all = ordered_json::array();
    for (const auto& [key, by_version] : series) {
      std::optional<std::size_t> before;
      for (const auto& [version, row] : by_version) {
        if (before) {
          const AnchorRow stand_in{0, rows_[*before], "", "", {}};
          const std::vector<Change> changes = results::changes_since(stand_in, rows_[row]);
          if (!changes.empty()) all.push_back(change_json(*before, row, changes));
        }
        before = row;
      }
    }
    return all;
  }

  /// Every anchor with what the newest verdict of its series differs in.
  [[nodiscard]] ordered_json anchors_json(const std::vector<AnchorRow>& anchors) const {
    std::map<std::tuple<Series, std::string, std::string>, std::size_t> rows;
    std::map<Series, std::size_t> last;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows[{series_of(rows_[i]), rows_[i].key.version, rows_[i].started_at}] = i;
      if (results::comparable(rows_[i])) last[series_of(rows_[i])] = i;
    }
    ordered_json all = ordered_json::array();
    for (const AnchorRow& anchor : anchors) {
      const Series series = series_of(anchor.result);
      const auto own = rows.find({series, anchor.result.key.version, anchor.result.started_at});
      const auto now = last.find(series);
      if (own == rows.end() || now == last.end()) continue;
      ordered_json json = change_json(own->second, now->second, results::changes_since(anchor, rows_[now->second]));
      json.push_back(anchor.accepted_at);
      json.push_back(anchor.reason);
      all.push_back(std::move(json));
    }
    return all;
  }
};

/// All verdicts of the runs that the scope names.
core::Status add_runs(results::Store& store, const HtmlScope& scope, const std::vector<RunInfo>& runs,
                      Builder& builder) {
  for (const RunInfo& run : runs) {
    if (!scope.run.empty() && run.id != scope.run) continue;
    core::Status failed = core::success();
    const auto status = store.each_result(run.id, [&](std::int64_t /*id*/, ResultRow row) {
      if (failed) failed = builder.add(run.id, std::move(row));
    });
    if (!status) return status;
    if (!failed) return failed;
  }
  return core::success();
}

/// The newest verdicts of the newest versions of each converter; all others are counted.
core::Status add_newest(results::Store& store, std::size_t versions, Builder& builder) {
  const auto all = store.newest_verdicts("");
  if (!all) return all.error();
  for (std::size_t i = 0; i < all->versions.size(); ++i) {
    const auto& version = all->versions[i];
    if (!builder.in_scope(version.converter)) continue;
    const bool old = i + versions < all->versions.size() && all->versions[i + versions].converter == version.converter;
    if (old) {
      builder.count(*all, version);
      continue;
    }
    core::Status failed = core::success();
    const auto status =
        store.each_newest(version.converter, version.version, [&](const std::string& run, ResultRow row) {
          if (failed) failed = builder.add(run, std::move(row));
        });
    if (!status) return status;
    if (!failed) return failed;
  }
  return core::success();
}

}  // namespace

core::Result<ReportData> report_data(results::Store& store, const HtmlScope& scope) {
  const auto runs = store.runs();
  if (!runs) return runs.error();
  const auto jobs = store.job_counts(scope.converters);
  if (!jobs) return jobs.error();
  Builder builder(scope);
  std::size_t verdicts = 0;
  for (const RunInfo& run : *runs) {
    if (!scope.run.empty() && run.id != scope.run) continue;
    const auto counts = jobs->find(run.id);
    const results::Store::JobCounts none, &own = counts == jobs->end() ? none : counts->second;
    builder.plan(run, own);
    verdicts += own.done;
  }
  const std::size_t versions = scope.versions > 0 ? scope.versions : verdicts > kWholePage ? kNewestVersions : 0;
  const bool newest = versions > 0 && scope.run.empty();
  if (const auto added = newest ? add_newest(store, versions, builder) : add_runs(store, scope, *runs, builder);
      !added) {
    return added.error();
  }
  const auto scores = store.scores();
  if (!scores) return scores.error();
  builder.measured(*scores);
  const auto anchors = store.anchors();
  if (!anchors) return anchors.error();
  return builder.finish(*anchors);
}

}  // namespace assay::report
