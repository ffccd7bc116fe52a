#include "harness/corpus/case.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/expand.hpp"
#include "harness/corpus/fields.hpp"
#include "harness/corpus/remote.hpp"
#include "harness/corpus/tensor_spec.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::corpus {
namespace {

using core::Error;
using core::ErrorKind;
using nlohmann::ordered_json;
using Problem = std::optional<Error>;

Error case_error(std::string message) { return {ErrorKind::invalid_case, std::move(message), "", "", ""}; }

template <std::size_t N>
void allow(const Fields& fields, const std::array<std::string_view, N>& keys) {
  fields.allow(std::span<const std::string_view>(keys));
}

/// `name` must be one of `known`; the complaint lists the nearest.
void require_known(const Fields& fields, std::string_view key, const std::string& name, const std::string& what,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  fields.complain(key, "unknown " + what + " \"" + name +
                           "\"; the nearest known are: " + core::join(core::nearest(name, known, 4), ", "));
}

// --- described tensors ---------------------------------------------------------------------------------------------

void read_spread(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("spread")) return;
  const Fields spread = fields.object("spread");
  allow(spread, std::array<std::string_view, 2>{"axis", "ratio"});
  spec.axis = spread.integer("axis");
  spec.ratio = spread.real("ratio", 1);
  if (spec.axis < 0 || spec.axis >= static_cast<std::int64_t>(spec.shape.size())) {
    spread.complain("axis", "must be an axis of the shape " + core::shape_text(spec.shape));
  }
  if (!(*spec.ratio >= 1)) spread.complain("ratio", "must be at least 1");
}

void read_zero_channels(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("zero_channels")) return;
  spec.zero_channels = fields.integers("zero_channels");
  const auto channels = spec.shape.empty() ? 0 : spec.shape[static_cast<std::size_t>(spec.axis)];
  for (const std::int64_t channel : spec.zero_channels) {
    if (channel < 0 || channel >= channels) {
      fields.complain("zero_channels",
                      "channel " + std::to_string(channel) + " is not below " + std::to_string(channels));
    }
  }
}

void read_outlier(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("outlier")) return;
  const Fields outlier = fields.object("outlier");
  allow(outlier, std::array<std::string_view, 2>{"value", "at"});
  if (!outlier.has("value")) outlier.complain("value", "is missing");
  spec.outlier = outlier.real("value");
  spec.outlier_at = outlier.integers("at");
  if (spec.outlier_at.size() > spec.shape.size()) outlier.complain("at", "has more indices than the shape has axes");
}

void read_shape(const Fields& fields, TensorSpec& spec) {
  if (fields.has("shape")) {
    spec.shape = fields.integers("shape");
  } else if (spec.kind == "values") {
    spec.shape = {static_cast<std::int64_t>(spec.values.size())};
  } else {
    fields.complain("shape", "is missing");
  }
  for (const std::int64_t extent : spec.shape) {
    if (extent < 0 || extent > (std::int64_t{1} << 28U))
      fields.complain("shape", "extent " + std::to_string(extent) + " is out of range");
  }
  if (fields.problem()) spec.shape = {0};
  if (core::element_count(spec.shape) > (std::int64_t{1} << 28U)) fields.complain("shape", "has too many elements");
}

TensorSpec read_tensor_spec(const Fields& fields) {
  allow(fields,
        std::array<std::string_view, 15>{"shape", "data", "type", "range", "mean", "std", "value", "start", "step",
                                         "values", "spread", "axis", "zero_channels", "outlier", "seed"});
  TensorSpec spec;
  spec.kind = fields.string("data", fields.has("values") ? "values" : "normal");
  require_known(fields, "data", spec.kind, "data", tensor_kinds());
  const std::string type = fields.string("type", "float");
  spec.type = core::parse_dtype(type).value_or(core::DType::undefined);
  if (spec.type == core::DType::undefined || spec.type == core::DType::string)
    fields.complain("type", "unknown type \"" + type + "\"");
  spec.values = fields.reals("values");
  read_shape(fields, spec);
  if (spec.kind == "values" && static_cast<std::int64_t>(spec.values.size()) != core::element_count(spec.shape)) {
    fields.complain("values", "holds " + std::to_string(spec.values.size()) + " numbers, the shape " +
                                  core::shape_text(spec.shape) + " needs " +
                                  std::to_string(core::element_count(spec.shape)));
  }
  if (fields.has("range")) {
    const auto range = fields.reals("range");
    if (range.size() != 2 || !(range[0] <= range[1])) {
      fields.complain("range", "must be [low, high]");
    } else {
      spec.low = range[0];
      spec.high = range[1];
    }
  }
  if (fields.has("mean")) spec.mean = fields.real("mean");
  if (fields.has("std")) spec.std_dev = fields.real("std");
  spec.value = fields.real("value");
  spec.start = fields.real("start", 0);
  spec.step = fields.real("step", 1);
  spec.axis = fields.integer("axis");
  if (spec.axis < 0 || (spec.axis > 0 && spec.axis >= static_cast<std::int64_t>(spec.shape.size()))) {
    fields.complain("axis", "must be an axis of the shape " + core::shape_text(spec.shape));
    spec.axis = 0;
  }
  read_spread(fields, spec);
  read_zero_channels(fields, spec);
  read_outlier(fields, spec);
  if (fields.has("seed")) spec.seed = static_cast<std::uint64_t>(fields.integer("seed"));
  return spec;
}

// --- the model -----------------------------------------------------------------------------------------------------

std::map<std::string, std::int64_t> read_opsets(const Fields& fields) {
  if (!fields.has("opset")) return {{"", 13}};
  if (!fields.raw("opset").is_object()) return {{"", fields.integer("opset", 13)}};
  std::map<std::string, std::int64_t> opsets;
  const Fields object = fields.object("opset");
  for (const std::string& domain : object.keys()) opsets[domain == "ai.onnx" ? "" : domain] = object.integer(domain);
  return opsets;
}

std::map<std::string, std::string> read_names(const Fields& fields, std::string_view key) {
  std::map<std::string, std::string> names;
  if (!fields.has(key)) return names;
  const Fields object = fields.object(key);
  for (const std::string& name : object.keys()) names[name] = object.string(name);
  return names;
}

void collect_used(const model::Graph& graph, std::set<std::string>& used) {
  for (const auto& output : graph.outputs) used.insert(output.name);
  for (const auto& node : graph.nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [key, value] : node.attributes) {
      if (const auto* sub = std::get_if<model::GraphPtr>(&value); sub != nullptr && *sub) collect_used(**sub, used);
    }
  }
}

void add_initializers(const Fields& fields, std::uint64_t seed, model::Graph& graph) {
  if (!fields.has("initializers")) return;
  std::set<std::string> used;
  collect_used(graph, used);
  const auto unused_list = fields.strings("unused");
  const std::set<std::string> unused(unused_list.begin(), unused_list.end());
  const Fields all = fields.object("initializers");
  for (const std::string& name : all.keys()) {
    const TensorSpec spec = read_tensor_spec(all.object(name));
    if (fields.problem()) return;
    if (!used.contains(name) && !unused.contains(name)) {
      all.complain(name, "no node reads it; list it in \"unused\" if that is meant");
    }
    if (graph.initializers.contains(name))
      all.complain(name, "the graph's text defines an initializer of this name too");
    graph.initializers[name] = std::make_shared<const core::Tensor>(generate(spec, seed, name));
  }
}

using Renames = std::map<std::string, std::string>;

void rename(std::string& name, const Renames& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

void rename_tensors(model::Graph& graph, const Renames& names) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (auto& value : *list) rename(value.name, names);
  }
  for (auto& node : graph.nodes) {
    if (!node.outputs.empty() && node.name == node.outputs.front()) rename(node.name, names);
    for (auto& name : node.inputs) rename(name, names);
    for (auto& name : node.outputs) rename(name, names);
    for (auto& [key, value] : node.attributes) {
      auto* sub = std::get_if<model::GraphPtr>(&value);
      if (sub == nullptr || !*sub) continue;
      model::Graph copy = **sub;
      rename_tensors(copy, names);
      *sub = std::make_shared<const model::Graph>(std::move(copy));
    }
  }
  std::map<std::string, model::TensorPtr> initializers;
  for (auto& [name, tensor] : graph.initializers) {
    const auto found = names.find(name);
    initializers[found == names.end() ? name : found->second] = tensor;
  }
  graph.initializers = std::move(initializers);
}

std::set<std::string> tensor_names(const model::Graph& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.inputs) names.insert(input.name);
  for (const auto& [name, tensor] : graph.initializers) names.insert(name);
  for (const auto& node : graph.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  return names;
}

void apply_names(const Fields& fields, model::Graph& graph) {
  const Renames names = read_names(fields, "names");
  std::set<std::string> known = tensor_names(graph);
  for (const auto& [from, to] : names) {
    require_known(fields, "names", from, "tensor", {known.begin(), known.end()});
    if (to.empty()) fields.complain("names", "tensor \"" + from + "\" can't have an empty name");
  }
  rename_tensors(graph, names);
  if (tensor_names(graph).size() != known.size()) fields.complain("names", "two tensors get the same name");
  for (const auto& [output, name] : read_names(fields, "node_names")) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&, &key = output](const model::Node& n) {
      return !n.outputs.empty() && n.outputs.front() == key;
    });
    if (node == graph.nodes.end()) {
      fields.complain("node_names", "no node's first output is \"" + output + "\"");
    } else {
      node->name = name.empty() ? output : name;
    }
  }
}

std::string graph_text(const Fields& fields) {
  std::string text;
  for (const std::string& line : fields.strings("graph")) text += line + "\n";
  return text;
}

core::Result<model::Model> read_model(const Fields& fields, std::uint64_t seed) {
  const auto opsets = read_opsets(fields);
  const std::string text = graph_text(fields);
  if (fields.problem()) return *fields.problem();
  auto parsed = model::parse_graph_text(text, opsets);
  if (!parsed) return case_error("graph: " + parsed.error().message);
  add_initializers(fields, seed, parsed->graph);
  if (!fields.problem()) apply_names(fields, parsed->graph);
  if (fields.problem()) return *fields.problem();
  const auto checked = model::check_model(*parsed);
  if (!checked) return case_error("graph: " + checked.error().message);
  return parsed;
}

// --- everything else -----------------------------------------------------------------------------------------------

InputSpec read_input(const Fields& fields) {
  allow(fields, std::array<std::string_view, 6>{"data", "range", "shape", "kind", "spread", "outlier"});
  InputSpec spec;
  spec.data_sets = fields.has("data") ? fields.strings("data") : std::vector<std::string>{"typical"};
  for (const std::string& set : spec.data_sets) require_known(fields, "data", set, "data set", known_data_sets());
  if (spec.data_sets.empty()) fields.complain("data", "must name at least one data set");
  if (fields.has("range")) {
    const auto range = fields.reals("range");
    if (range.size() != 2 || !(range[0] <= range[1])) {
      fields.complain("range", "must be [low, high]");
    } else {
      spec.low = as_element(range[0], core::DType::float32);
      spec.high = as_element(range[1], core::DType::float32);
    }
  }
  if (fields.has("shape")) spec.shape = fields.integers("shape");
  spec.kind = fields.string("kind", "normal");
  require_known(fields, "kind", spec.kind, "kind", input_kinds());
  if (fields.has("spread")) spec.ratio = fields.real("spread");
  if (spec.ratio && !(*spec.ratio >= 1)) fields.complain("spread", "must be at least 1");
  if (fields.has("outlier")) spec.outlier = fields.real("outlier");
  return spec;
}

FeedSpec read_feed(const Fields& fields, FeedSpec feed) {
  allow(fields, std::array<std::string_view, 9>{"batches", "seed", "drop", "batch", "last_batch", "stop_after", "order",
                                                "cache", "poison"});
  feed.batches = static_cast<int>(fields.integer("batches", feed.batches));
  if (feed.batches < 1 || feed.batches > 1000) fields.complain("batches", "must be 1 to 1000");
  feed.seed = static_cast<std::uint64_t>(fields.integer("seed", static_cast<std::int64_t>(feed.seed)));
  if (fields.has("drop")) feed.drop = fields.strings("drop");
  if (fields.has("order")) feed.order = fields.strings("order");
  if (fields.has("batch")) feed.batch = fields.integer("batch");
  if (fields.has("last_batch")) feed.last_batch = fields.integer("last_batch");
  if (fields.has("stop_after")) feed.stop_after = static_cast<int>(fields.integer("stop_after"));
  feed.cache = fields.string("cache", feed.cache);
  if (!feed.cache.empty()) require_known(fields, "cache", feed.cache, "cache", {"previous", "stale"});
  if (fields.has("poison")) {
    const Fields poison = fields.object("poison");
    for (const std::string& name : poison.keys()) feed.poison[name] = poison.real(name);
  }
  return feed;
}

std::string read_options(const Fields& fields, const std::string& base) {
  if (!fields.has("options")) return base;
  ordered_json options = ordered_json::parse(base);
  const ordered_json& own = fields.raw("options");
  if (!own.is_object()) {
    fields.complain("options", "must be an object");
    return base;
  }
  options.update(own);
  std::string text = options.dump();
  if (const auto checked = converters::options_from_json(text); !checked)
    fields.complain("options", checked.error().message);
  return text;
}

void read_steps(const Fields& fields, Case& out) {
  if (!fields.has("steps")) {
    out.steps.push_back({"convert", "{}", out.calibration});
    return;
  }
  for (const Fields& step : fields.objects("steps")) {
    allow(step, std::array<std::string_view, 4>{"do", "options", "cache", "calibration"});
    Step read;
    read.action = step.string("do");
    require_known(step, "do", read.action, "step", {"convert"});
    read.options_json = read_options(step, "{}");
    read.feed = step.has("calibration") ? read_feed(step.object("calibration"), out.calibration) : out.calibration;
    read.feed.cache = step.string("cache", read.feed.cache);
    if (!read.feed.cache.empty()) require_known(step, "cache", read.feed.cache, "cache", {"previous", "stale"});
    out.steps.push_back(std::move(read));
  }
  if (out.steps.empty()) fields.complain("steps", "must hold at least one step");
}

ExpectedScale read_expected_scale(const Fields& fields) {
  allow(fields, std::array<std::string_view, 4>{"axis", "count", "scale", "zero_point"});
  ExpectedScale scale;
  if (fields.has("axis")) scale.axis = fields.integer("axis");
  if (fields.has("count")) scale.count = fields.integer("count");
  if (fields.has("scale")) scale.scale = fields.real("scale");
  if (fields.has("zero_point")) scale.zero_point = fields.integer("zero_point");
  return scale;
}

void read_refusal(const Fields& fields, Expectation& expect) {
  if (!fields.has("refused")) {
    if (expect.status == "refused")
      fields.complain("refused", "is missing: an expected refusal names node, operator and reason");
    return;
  }
  const Fields refused = fields.object("refused");
  allow(refused, std::array<std::string_view, 3>{"node", "operator", "reason"});
  if (refused.has("node")) expect.refused_node = refused.string("node");
  if (refused.has("operator")) expect.refused_op = refused.string("operator");
  if (refused.has("reason")) expect.refused_reason = refused.string("reason");
  if (expect.status != "refused") fields.complain("refused", "needs \"status\": \"refused\"");
}

Expectation read_expectation(const Fields& fields) {
  allow(fields, std::array<std::string_view, 9>{"status", "refused", "precision", "scales", "shape", "dtype", "outputs",
                                                "diagnostics", "order"});
  Expectation expect;
  expect.status = fields.string("status", "converts");
  require_known(fields, "status", expect.status, "status", {"converts", "refused"});
  read_refusal(fields, expect);
  expect.precision = read_names(fields, "precision");
  for (const auto& [node, precision] : expect.precision) {
    require_known(fields, "precision", precision, "precision", {"int8", "fp16", "fp32"});
  }
  if (fields.has("scales")) {
    const Fields scales = fields.object("scales");
    for (const std::string& name : scales.keys()) expect.scales[name] = read_expected_scale(scales.object(name));
  }
  if (fields.has("shape")) {
    const Fields shapes = fields.object("shape");
    for (const std::string& name : shapes.keys()) expect.shape[name] = shapes.integers(name);
  }
  expect.dtype = read_names(fields, "dtype");
  if (fields.has("outputs")) expect.outputs = fields.strings("outputs");
  expect.diagnostics = fields.strings("diagnostics");
  if (fields.has("order")) expect.order = fields.strings("order");
  return expect;
}

/// Names that a case speaks of must exist in its graph: a misspelled one would check nothing.
void check_references(const Fields& fields, const Case& read) {
  const model::Graph& graph = read.model->graph;
  std::vector<std::string> inputs, outputs, nodes;
  for (const auto& input : graph.inputs) inputs.push_back(input.name);
  for (const auto& output : graph.outputs) outputs.push_back(output.name);
  for (const auto& node : graph.nodes) nodes.insert(nodes.end(), {node.name, node.op_type});
  const auto tensors = tensor_names(graph);
  for (const auto& [name, spec] : read.inputs) require_known(fields, "inputs", name, "graph input", inputs);
  for (const std::string& name : inputs) {
    if (!read.inputs.contains(name)) fields.complain("inputs", "graph input \"" + name + "\" is not described");
  }
  for (const auto& [name, precision] : read.expect.precision)
    require_known(fields, "expect.precision", name, "node or operator", nodes);
  for (const auto& [name, scale] : read.expect.scales)
    require_known(fields, "expect.scales", name, "tensor", {tensors.begin(), tensors.end()});
  for (const auto& [name, shape] : read.expect.shape)
    require_known(fields, "expect.shape", name, "graph output", outputs);
  for (const auto& [name, type] : read.expect.dtype)
    require_known(fields, "expect.dtype", name, "graph output", outputs);
  for (const Step& step : read.steps) {
    for (const std::string& name : step.feed.drop)
      require_known(fields, "calibration.drop", name, "graph input", inputs);
    for (const std::string& name : step.feed.order)
      require_known(fields, "calibration.order", name, "graph input", inputs);
    for (const auto& [name, value] : step.feed.poison)
      require_known(fields, "calibration.poison", name, "graph input", inputs);
  }
  for (const auto& input : graph.inputs) {
    const auto shape = input_shape(read, input);
    if (!shape) fields.complain("inputs", shape.error().message);
  }
}

core::Status read_graph(const Fields& fields, Case& out) {
  if (fields.has("graph") == fields.has("model"))
    return case_error("exactly one of \"graph\" and \"model\" must be given");
  if (fields.has("graph")) {
    auto read = read_model(fields, out.seed);
    if (!read) return read.error();
    out.model = std::make_shared<const model::Model>(std::move(*read));
    return core::success();
  }
  const std::string model = fields.string("model");
  if (model.starts_with("pypi:")) {
    auto remote = parse_remote(model, fields.string("sha256"));
    if (!remote) return remote.error();
    out.remote = std::move(*remote);
    return core::success();
  }
  auto loaded = model::load_model(out.file.parent_path() / model);
  if (!loaded) return case_error("model: " + loaded.error().message);
  apply_names(fields, loaded->graph);
  if (fields.problem()) return *fields.problem();
  out.model = std::make_shared<const model::Model>(std::move(*loaded));
  return core::success();
}

/// Hash of what determines the verdict: not the words about the case.
core::Result<std::string> content_hash(const ordered_json& json, const Case& read) {
  ordered_json content = json;
  for (const char* words : {"title", "origin", "tags", "kills", "family"}) content.erase(words);
  std::string text = content.dump();
  if (json.contains("model") && !read.remote) {
    const auto bytes = core::read_file(read.file.parent_path() / json["model"].get<std::string>());
    if (!bytes) return bytes.error();
    text += core::sha256_hex(*bytes);
  }
  return core::sha256_hex(text);
}

core::Result<Case> read_case(const std::string& name, const ordered_json& json, const std::filesystem::path& file) {
  Problem problem;
  const Fields fields(json, "", problem);
  allow(fields, std::array<std::string_view, 21>{
                    "family",      "title",   "origin",       "tags",   "graph",  "model",       "sha256",
                    "stored_data", "opset",   "initializers", "unused", "inputs", "names",       "node_names",
                    "calibration", "options", "steps",        "expect", "kills",  "metamorphic", "seed"});
  Case out;
  out.name = name;
  out.file = file;
  out.family = fields.string("family");
  out.title = fields.string("title");
  if (out.title.empty()) fields.complain("title", "is missing: it says why the case exists");
  for (const Fields& origin : fields.objects("origin")) {
    allow(origin, std::array<std::string_view, 3>{"url", "reported_against", "defect"});
    out.origins.push_back({origin.string("url"), origin.string("reported_against"), origin.string("defect")});
  }
  out.tags = fields.strings("tags");
  out.kills = fields.strings("kills");
  out.metamorphic = fields.strings("metamorphic");
  out.seed = static_cast<std::uint64_t>(fields.integer("seed", 1));
  if (problem) return *problem;
  if (const auto status = read_graph(fields, out); !status) return status.error();
  const Fields inputs = fields.object("inputs");
  for (const std::string& input : inputs.keys()) out.inputs[input] = read_input(inputs.object(input));
  if (fields.has("stored_data")) out.stored_data = file.parent_path() / fields.string("stored_data");
  if (fields.has("calibration")) out.calibration = read_feed(fields.object("calibration"), {});
  out.options_json = read_options(fields, "{}");
  read_steps(fields, out);
  if (fields.has("expect")) out.expect = read_expectation(fields.object("expect"));
  if (!problem && out.model) check_references(fields, out);
  if (problem) return *problem;
  auto hash = content_hash(json, out);
  if (!hash) return hash.error();
  out.content_hash = std::move(*hash);
  return out;
}

/// nlohmann keeps one of two equal keys without a word; a case must not lose one.
class DuplicateKeys {
 public:
  bool operator()(int depth, ordered_json::parse_event_t event, ordered_json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == ordered_json::parse_event_t::object_start) {
      if (seen_.size() <= level + 1) seen_.resize(level + 2);
      seen_[level + 1].clear();
    }
    if (event == ordered_json::parse_event_t::key) {
      if (seen_.size() <= level) seen_.resize(level + 1);
      if (!seen_[level].insert(parsed.get<std::string>()).second && twice_.empty()) twice_ = parsed.get<std::string>();
    }
    return true;
  }
  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> seen_;
  std::string twice_;
};

core::Result<std::vector<Case>> parse_cases(const std::string& text, const std::filesystem::path& file) {
  DuplicateKeys duplicates;
  ordered_json family;
  try {
    family = ordered_json::parse(text, std::ref(duplicates));
  } catch (const ordered_json::exception& error) {
    return case_error(std::string("not valid JSON: ") + error.what());
  }
  if (!duplicates.twice().empty()) return case_error("key \"" + duplicates.twice() + "\" stands twice in one object");
  if (!family.is_object() || !family.contains("family") || !family["family"].is_string()) {
    return case_error("family: is missing or not a string");
  }
  auto expanded = expand_family(family);
  if (!expanded) return expanded.error();
  std::vector<Case> cases;
  for (const auto& [name, json] : *expanded) {
    auto read = read_case(name, json, file);
    if (!read) return read.error().within(name);
    cases.push_back(std::move(*read));
  }
  return cases;
}

}  // namespace

core::Result<std::vector<Case>> parse_family(const std::string& json, const std::filesystem::path& file) {
  auto cases = parse_cases(json, file);
  if (cases) return cases;
  Error error = cases.error().within(file.string());
  error.kind = ErrorKind::invalid_case;
  return error;
}

core::Result<std::vector<Case>> load_family(const std::filesystem::path& file) {
  const auto text = core::read_file(file, std::uintmax_t{16} << 20U);
  if (!text) return Error{ErrorKind::invalid_case, text.error().message, "", "", ""};
  return parse_family(*text, file);
}

}  // namespace assay::corpus
