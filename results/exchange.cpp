#include "results/exchange.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "harness/core/json.hpp"

namespace assay::results {
namespace {

using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;
using nlohmann::json;

constexpr int kFormat = 2;  // 1 had no anchors

// Each struct has one list of its fields, which both directions go through: Writer fills an object, Reader takes
// from one. A field that is missing keeps its default.

json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  return std::nan("");
}

/// The library converts any number, and one that the type can't hold in undefined ways. Throws its exception instead.
template <typename Integer>
Integer whole(const json& value) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Integer>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) throw json::out_of_range::create(406, "an integer that fits is asked for, not " + value.dump(), &value);
  return value.get<Integer>();
}

class Writer {
 public:
  json object = json::object();
  void operator()(const char* key, const std::string& value) { object[key] = value; }
  void operator()(const char* key, const double& value) { object[key] = number(value); }
  void operator()(const char* key, const int& value) { object[key] = value; }
  void operator()(const char* key, const bool& value) { object[key] = value; }
  void operator()(const char* key, const std::size_t& value) { object[key] = value; }
  void operator()(const char* key, const std::optional<double>& value) {
    if (value) object[key] = number(*value);
  }
  void operator()(const char* key, const core::QuantParams& params) {
    json scales = json::array();
    for (const double scale : params.scale) scales.push_back(number(scale));
    object[key] = {{"scale", std::move(scales)},
                   {"zero_point", params.zero_point},
                   {"type", core::dtype_name(params.type)},
                   {"axis", params.axis ? json(*params.axis) : json()}};
    if (params.block != 0) object[key]["block"] = params.block;
  }
  template <typename T>
  void operator()(const char* key, const std::vector<T>& values);
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value);
};

class Reader {
 public:
  explicit Reader(const json& source) : object(source) {}
  const json& object;
  void operator()(const char* key, std::string& value) const { value = object.value(key, value); }
  void operator()(const char* key, double& value) const {
    if (object.contains(key)) value = number(object[key]);
  }
  void operator()(const char* key, int& value) const {
    if (object.contains(key)) value = whole<int>(object[key]);
  }
  void operator()(const char* key, bool& value) const { value = object.value(key, value); }
  void operator()(const char* key, std::size_t& value) const {
    if (object.contains(key)) value = whole<std::size_t>(object[key]);
  }
  void operator()(const char* key, std::optional<double>& value) const {
    if (object.contains(key)) value = number(object[key]);
  }
  void operator()(const char* key, core::QuantParams& params) const {
    const json& source = object.at(key);
    for (const json& scale : source.at("scale")) params.scale.push_back(number(scale));
    for (const json& zero : source.at("zero_point")) params.zero_point.push_back(whole<std::int64_t>(zero));
    params.type = core::parse_dtype(source.at("type").get<std::string>()).value_or(core::DType::undefined);
    if (!source.at("axis").is_null()) params.axis = whole<std::int64_t>(source.at("axis"));
    if (source.contains("block")) params.block = whole<std::int64_t>(source.at("block"));
  }
  template <typename T>
  void operator()(const char* key, std::vector<T>& values) const;
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) const;
};

template <typename Visitor, typename T>
void visit_key(Visitor& visit, T& key) {
  visit("case", key.case_name), visit("options", key.options), visit("converter", key.converter),
      visit("version", key.version), visit("converter_hash", key.hash);
}

// The second parameter is the struct, const or not.
template <typename V, typename T>
void visit_fields(V& visit, T& x) {
  using Row = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Row, RunInfo>) {
    visit("id", x.id), visit("command", x.command), visit("suite", x.suite), visit("settings", x.settings);
    visit("started_at", x.started_at), visit("finished_at", x.finished_at), visit("assay_version", x.assay_version),
        visit("planned", x.planned);
    visit("cpu", x.machine.cpu), visit("features", x.machine.features), visit("cores", x.machine.cores);
    visit("system", x.machine.system), visit("accelerators", x.machine.accelerators);
  } else if constexpr (std::is_same_v<Row, FindingRow>) {
    visit("stage", x.stage), visit("facet", x.facet), visit("node", x.node), visit("op", x.op);
    visit("tensor", x.tensor), visit("data_set", x.data_set), visit("layer", x.layer), visit("message", x.message);
    visit("margin", x.margin), visit("amber", x.amber);
  } else if constexpr (std::is_same_v<Row, MetricRow>) {
    visit("tensor", x.tensor), visit("data_set", x.data_set), visit("name", x.name), visit("value", x.value);
  } else if constexpr (std::is_same_v<Row, ParameterRow>) {
    visit("tensor", x.tensor), visit("params", x.params);
  } else if constexpr (std::is_same_v<Row, PrecisionRow>) {
    visit("node", x.node), visit("op", x.op), visit("got", x.got);
  } else if constexpr (std::is_same_v<Row, AttemptRow>) {
    visit("request", x.request), visit("number", x.number), visit("outcome", x.outcome), visit("reason", x.reason);
    visit("seconds", x.seconds);
  } else if constexpr (std::is_same_v<Row, CoverageRow>) {
    visit("op", x.op), visit("nodes", x.nodes), visit("judged", x.judged);
  } else if constexpr (std::is_same_v<Row, UnjudgedRow>) {
    visit("node", x.node), visit("op", x.op), visit("reason", x.reason);
  } else if constexpr (std::is_same_v<Row, ExpectationRow>) {
    visit("case_pattern", x.case_pattern), visit("options", x.options), visit("converter", x.converter);
    visit("versions", x.versions), visit("stage", x.stage), visit("facet", x.facet), visit("reason", x.reason);
    visit("url", x.url), visit("until", x.until), visit("margin", x.margin);
  } else if constexpr (std::is_same_v<Row, AcceptedRow>) {
    visit_key(visit, x.key);
    visit("accepted_at", x.accepted_at), visit("reason", x.reason), visit("repeats", x.wobble.repeats);
    visit("wobble_db", x.wobble.sqnr_db), visit("parameters_wobble", x.wobble.parameters);
    visit("position", x.position);
  } else {
    static_assert(std::is_same_v<Row, ResultRow>);
    visit_key(visit, x.key);
    visit("family", x.family), visit("case_hash", x.case_hash);
    visit("verdict", x.verdict), visit("gate", x.gate), visit("stage", x.stage), visit("facet", x.facet);
    visit("node", x.node), visit("op", x.op), visit("reason", x.reason), visit("signature", x.signature);
    visit("style", x.style), visit("layers", x.layers), visit("artifact_kind", x.artifact_kind);
    visit("judged_as", x.judged_as), visit("artifact_hash", x.artifact_hash), visit("artifact_bytes", x.artifact_bytes),
        visit("margin", x.margin);
    visit("sqnr_db", x.sqnr_db), visit("seconds", x.seconds);
    visit("started_at", x.started_at), visit("findings", x.findings), visit("metrics", x.metrics);
    visit("parameters", x.parameters), visit("precision", x.precision), visit("attempts", x.attempts);
    visit("judged_outputs", x.judged_outputs), visit("coverage", x.coverage), visit("unjudged", x.unjudged);
    visit("expectation", x.expectation), visit("detail", x.detail);
  }
}

template <typename T>
json to_object(const T& value) {
  Writer writer;
  visit_fields(writer, value);
  return std::move(writer.object);
}

template <typename T>
T from_object(const json& object) {
  T value;
  const Reader reader(object);
  visit_fields(reader, value);
  return value;
}

template <typename T>
void Writer::operator()(const char* key, const std::vector<T>& values) {
  if (values.empty()) return;
  for (const T& value : values) object[key].push_back(to_object(value));
}
template <typename T>
void Writer::operator()(const char* key, const std::optional<T>& value) {
  if (value) object[key] = to_object(*value);
}
template <typename T>
void Reader::operator()(const char* key, std::vector<T>& values) const {
  if (!object.contains(key)) return;
  for (const json& value : object.at(key)) values.push_back(from_object<T>(value));
}
template <typename T>
void Reader::operator()(const char* key, std::optional<T>& value) const {
  if (object.contains(key)) value = from_object<T>(object.at(key));
}

void write_line(std::ostream& out, const char* kind, json object) {
  object["kind"] = kind;
  out << object.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

/// Reads one line into `runs`. Throws nlohmann's exceptions and returns what else is wrong, "" for nothing.
std::string gather(const json& line, std::vector<Store::RecordedRun>& runs) {
  const auto kind = line.at("kind").get<std::string>();
  if (kind == "run") {
    if (whole<int>(line.at("format")) > kFormat) return "is of a newer format";
    runs.push_back({from_object<RunInfo>(line), {}, {}, {}});
    return "";
  }
  if (runs.empty()) return "stands before any run";
  Store::RecordedRun& run = runs.back();
  if (kind == "job") {
    JobKey key;
    const Reader reader(line);
    visit_key(reader, key);
    const auto state = line.at("state").get<std::string>();
    auto& list = state == "done" ? run.jobs.done : state == "started" ? run.jobs.started : run.jobs.waiting;
    list.push_back(std::move(key));
    return "";
  }
  if (kind == "result") {
    run.results.push_back(from_object<ResultRow>(line));
    return "";
  }
  if (kind == "anchor") {
    run.accepted.push_back(from_object<AcceptedRow>(line));
    return "";
  }
  return "has an unknown kind \"" + kind + "\"";
}

}  // namespace

Status export_lines(Store& store, std::ostream& out) {
  const auto runs = store.runs();
  if (!runs) return runs.error();
  for (const RunInfo& run : *runs) {
    json head = to_object(run);
    head["format"] = kFormat;
    write_line(out, "run", std::move(head));
    const auto recorded = store.recorded(run);
    if (!recorded) return recorded.error();
    const Store::Progress& jobs = recorded->jobs;
    for (const auto& [list, state] :
         {std::pair(&jobs.done, "done"), {&jobs.started, "started"}, {&jobs.waiting, "waiting"}}) {
      for (const JobKey& key : *list) {
        Writer writer;
        visit_key(writer, key);
        writer.object["state"] = state;
        write_line(out, "job", std::move(writer.object));
      }
    }
    for (const ResultRow& row : recorded->results) write_line(out, "result", to_object(row));
    for (const AcceptedRow& row : recorded->accepted) write_line(out, "anchor", to_object(row));
  }
  out.flush();
  if (!out) return Error{ErrorKind::io, "the results can't be written", "", "", ""};
  return core::success();
}

Result<std::vector<Store::RecordedRun>> read_lines(std::istream& in) {
  std::vector<Store::RecordedRun> runs;
  std::size_t number_of_line = 0;
  for (std::string text; std::getline(in, text);) {
    ++number_of_line;
    std::string wrong;
    const Result<json> line = core::read_json<json>(text);
    try {
      wrong = line ? gather(*line, runs) : "can't be read: " + line.error().message;
    } catch (const json::exception& exception) {
      wrong = fmt::format("can't be read: {}", exception.what());
    }
    if (!wrong.empty()) {
      return Error{ErrorKind::invalid_data, fmt::format("line {} {}", number_of_line, wrong), "", "", ""};
    }
  }
  return runs;
}

Result<Store::MergeCount> import_lines(Store& store, std::istream& in) {
  const auto runs = read_lines(in);
  if (!runs) return runs.error();
  return store.merge(*runs);
}

}  // namespace assay::results
