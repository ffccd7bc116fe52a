#include "harness/corpus/case.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/case_error.hpp"
#include "harness/corpus/case_model.hpp"
#include "harness/corpus/expand.hpp"
#include "harness/corpus/fields.hpp"
#include "harness/corpus/pattern.hpp"
#include "harness/corpus/remote.hpp"
#include "harness/corpus/stored.hpp"
#include "harness/corpus/tensor_spec.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::corpus {
namespace {

using core::Error;
using core::ErrorKind;
using nlohmann::ordered_json;
using Problem = std::optional<Error>;

/// How a picture becomes numbers.
void read_picture(const Fields& fields, InputSpec& spec) {
  if (fields.has("mean")) spec.mean = fields.reals("mean");
  if (fields.has("std")) spec.std_dev = fields.reals("std");
  if (fields.has("mean") != fields.has("std")) fields.complain("mean", "and \"std\" need each other");
  if (fields.has("mean") && fields.has("range")) fields.complain("range", "says the same as \"mean\" and \"std\"");
  if (std::ranges::any_of(spec.std_dev, [](double std_dev) { return !(std_dev > 0); })) {
    fields.complain("std", "must be above 0");
  }
  const std::string layout = fields.string("layout", "NCHW");
  fields.require_known("layout", layout, "layout", {"NCHW", "NHWC"});
  spec.channels_last = layout == "NHWC";
  for (const std::string_view key : {"mean", "layout"}) {
    if (fields.has(key) && !shows_picture(spec.kind)) fields.complain(key, "belongs to a drawn picture");
  }
}

InputSpec read_input(const Fields& fields) {
  fields.allow({"data", "range", "shape", "kind", "spread", "outlier", "mean", "std", "layout"});
  InputSpec spec;
  spec.data_sets = fields.has("data") ? fields.strings("data") : std::vector<std::string>{"typical"};
  for (const std::string& set : spec.data_sets) fields.require_known("data", set, "data set", known_data_sets());
  if (spec.data_sets.empty()) fields.complain("data", "must name at least one data set");
  if (const auto range = fields.interval("range")) {
    spec.low = as_element(range->first, core::DType::float32);
    spec.high = as_element(range->second, core::DType::float32);
  }
  if (fields.has("shape")) spec.shape = fields.integers("shape");
  spec.kind = fields.string("kind", "normal");
  fields.require_known("kind", spec.kind, "kind", input_kinds());
  if (fields.has("spread")) spec.ratio = fields.real("spread");
  if (spec.ratio && !(*spec.ratio >= 1)) fields.complain("spread", "must be at least 1");
  if (fields.has("outlier")) spec.outlier = fields.real("outlier");
  read_picture(fields, spec);
  return spec;
}

void read_cache(const Fields& fields, FeedSpec& feed) {
  feed.cache = fields.string("cache", feed.cache);
  if (!feed.cache.empty()) fields.require_known("cache", feed.cache, "cache", known_caches());
  if (fields.has("forget")) feed.forget = fields.strings("forget");
  feed.edit = fields.string("edit", feed.edit);
  if (!feed.edit.empty()) fields.require_known("edit", feed.edit, "edit", cache_edits());
  if (feed.cache == "previous") return;
  if (!feed.forget.empty()) fields.complain("forget", "needs \"cache\": \"previous\"");
  if (!feed.edit.empty()) fields.complain("edit", "needs \"cache\": \"previous\"");
}

/// What makes the files of a batch other than the graph declares them.
void read_disguise(const Fields& fields, FeedSpec& feed) {
  if (fields.has("types")) feed.types = fields.string_map("types");
  for (const auto& [name, type] : feed.types) {
    const auto known = core::parse_dtype(type);
    if (!known || *known == core::DType::boolean || !(core::is_real(*known) || core::is_integer(*known))) {
      fields.complain("types", "\"" + type + "\" is no type of numbers");
    }
  }
  if (fields.has("shapes")) {
    const Fields shapes = fields.object("shapes");
    for (const std::string& name : shapes.keys()) feed.shapes[name] = shapes.integers(name);
  }
  if (fields.has("extra")) feed.extra = fields.strings("extra");
}

FeedSpec read_feed(const Fields& fields, FeedSpec feed) {
  fields.allow({"batches", "seed", "drop", "batch", "last_batch", "stop_after", "order", "cache", "forget", "edit",
                "poison", "types", "shapes", "extra", "widths"});
  feed.batches = static_cast<int>(fields.integer("batches", feed.batches));
  if (feed.batches < 0 || feed.batches > 1000) fields.complain("batches", "must be 0 to 1000");
  feed.seed = static_cast<std::uint64_t>(fields.integer("seed", static_cast<std::int64_t>(feed.seed)));
  if (fields.has("drop")) feed.drop = fields.strings("drop");
  if (fields.has("order")) feed.order = fields.strings("order");
  if (fields.has("batch")) feed.batch = fields.integer("batch");
  if (fields.has("last_batch")) feed.last_batch = fields.integer("last_batch");
  if (fields.has("stop_after")) feed.stop_after = static_cast<int>(fields.integer("stop_after"));
  if (fields.has("widths")) {
    feed.widths = fields.reals("widths");
    if (std::ranges::any_of(feed.widths, [](double width) { return !(width > 0 && width <= 1); }) ||
        std::ranges::find(feed.widths, 1.0) == feed.widths.end()) {
      fields.complain("widths", "must be above 0 and at most 1, and one of them 1");
    }
  }
  read_cache(fields, feed);
  read_disguise(fields, feed);
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

void require_feed(const Fields& fields, const FeedSpec& feed) {
  if (feed.batches == 0 && feed.cache.empty()) {
    fields.complain("calibration.batches", "may be 0 beside a cache only");
  }
}

void read_steps(const Fields& fields, Case& out) {
  if (!fields.has("steps")) {
    out.steps.push_back({"convert", "{}", out.calibration});
    require_feed(fields, out.calibration);
    return;
  }
  for (const Fields& step : fields.objects("steps")) {
    step.allow({"do", "options", "cache", "forget", "edit", "calibration"});
    Step read;
    read.action = step.string("do");
    step.require_known("do", read.action, "step", {"convert"});
    read.options_json = read_options(step, "{}");
    read.feed = step.has("calibration") ? read_feed(step.object("calibration"), out.calibration) : out.calibration;
    read_cache(step, read.feed);
    require_feed(step, read.feed);
    out.steps.push_back(std::move(read));
  }
  if (out.steps.empty()) fields.complain("steps", "must hold at least one step");
}

ExpectedScale read_expected_scale(const Fields& fields) {
  fields.allow({"axis", "count", "scale", "scale_at_least", "zero_point"});
  ExpectedScale scale;
  if (fields.has("axis")) scale.axis = fields.integer("axis");
  if (fields.has("count")) scale.count = fields.integer("count");
  if (fields.has("scale")) scale.scale = fields.real("scale");
  if (fields.has("scale_at_least")) scale.scale_at_least = fields.real("scale_at_least");
  if (fields.has("zero_point")) scale.zero_point = fields.integer("zero_point");
  return scale;
}

void require_pattern(const Fields& fields, std::string_view key, const std::string& text) {
  if (const auto pattern = Pattern::parse(text); !pattern) {
    fields.complain(key, "\"" + text + "\" " + pattern.error().message);
  }
}

void read_refusal(const Fields& fields, Expectation& expect) {
  if (!fields.has("refused")) {
    if (expect.status != "converts")
      fields.complain("refused", "is missing: an expected refusal names node, operator and reason");
    return;
  }
  const Fields refused = fields.object("refused");
  refused.allow({"node", "operator", "reason"});
  if (refused.has("node")) expect.refused_node = refused.string("node");
  if (refused.has("operator")) expect.refused_op = refused.string("operator");
  if (refused.has("reason")) {
    expect.refused_reason = refused.string("reason");
    require_pattern(refused, "reason", *expect.refused_reason);
  }
  if (expect.status == "converts") fields.complain("refused", "needs \"status\": \"refused\" or \"either\"");
}

Expectation read_expectation(const Fields& fields) {
  fields.allow({"status", "refused", "precision", "scales", "same_scale_as", "shape", "dtype", "outputs", "diagnostics",
                "order"});
  Expectation expect;
  expect.status = fields.string("status", "converts");
  fields.require_known("status", expect.status, "status", {"converts", "refused", "either"});
  read_refusal(fields, expect);
  expect.precision = fields.string_map("precision");
  for (const auto& [node, precision] : expect.precision) {
    fields.require_known("precision", precision, "precision", {"int8", "fp16", "fp32"});
  }
  if (fields.has("scales")) {
    const Fields scales = fields.object("scales");
    for (const std::string& name : scales.keys()) expect.scales[name] = read_expected_scale(scales.object(name));
  }
  if (fields.has("same_scale_as")) {
    const Fields shared = fields.object("same_scale_as");
    for (const std::string& name : shared.keys()) expect.same_scale_as[name] = shared.strings(name);
  }
  if (fields.has("shape")) {
    const Fields shapes = fields.object("shape");
    for (const std::string& name : shapes.keys()) expect.shape[name] = shapes.integers(name);
  }
  expect.dtype = fields.string_map("dtype");
  if (fields.has("outputs")) expect.outputs = fields.strings("outputs");
  expect.diagnostics = fields.strings("diagnostics");
  for (const std::string& pattern : expect.diagnostics) require_pattern(fields, "diagnostics", pattern);
  if (fields.has("order")) expect.order = fields.strings("order");
  return expect;
}

}  // namespace

const std::vector<std::string>& known_caches() {
  static const std::vector<std::string> names{"previous", "stale", "foreign", "missing"};
  return names;
}

const std::vector<std::string>& cache_edits() {
  static const std::vector<std::string> names{"version", "method"};
  return names;
}

namespace {

/// Names that a case speaks of must exist in its graph: a misspelled one would check nothing.
void check_references(const Fields& fields, const Case& read) {
  const model::Graph& graph = read.model->graph;
  std::vector<std::string> inputs, outputs, nodes;
  for (const auto& input : graph.inputs) inputs.push_back(input.name);
  for (const auto& output : graph.outputs) outputs.push_back(output.name);
  for (const auto& node : graph.nodes) nodes.insert(nodes.end(), {node.name, model::operator_name(node)});
  const auto tensors = tensor_names(graph);
  for (const auto& [name, spec] : read.inputs) fields.require_known("inputs", name, "graph input", inputs);
  for (const std::string& name : inputs) {
    if (!read.inputs.contains(name)) fields.complain("inputs", "graph input \"" + name + "\" is not described");
  }
  for (const auto& [name, precision] : read.expect.precision)
    fields.require_known("expect.precision", name, "node or operator", nodes);
  for (const auto& [name, scale] : read.expect.scales)
    fields.require_known("expect.scales", name, "tensor", {tensors.begin(), tensors.end()});
  for (const auto& [name, others] : read.expect.same_scale_as) {
    fields.require_known("expect.same_scale_as", name, "tensor", {tensors.begin(), tensors.end()});
    for (const std::string& other : others) {
      fields.require_known("expect.same_scale_as", other, "tensor", {tensors.begin(), tensors.end()});
    }
  }
  for (const auto& [name, shape] : read.expect.shape)
    fields.require_known("expect.shape", name, "graph output", outputs);
  for (const auto& [name, type] : read.expect.dtype)
    fields.require_known("expect.dtype", name, "graph output", outputs);
  for (const Step& step : read.steps) {
    for (const std::string& name : step.feed.forget)
      fields.require_known("forget", name, "tensor", {tensors.begin(), tensors.end()});
    for (const std::string& name : step.feed.drop)
      fields.require_known("calibration.drop", name, "graph input", inputs);
    for (const std::string& name : step.feed.extra) {
      if (tensors.contains(name)) fields.complain("calibration.extra", "\"" + name + "\" is a tensor of the graph");
    }
    std::vector<std::string> fed = inputs;
    fed.insert(fed.end(), step.feed.extra.begin(), step.feed.extra.end());
    for (const std::string& name : step.feed.order) fields.require_known("calibration.order", name, "fed tensor", fed);
    for (const auto& [name, type] : step.feed.types)
      fields.require_known("calibration.types", name, "graph input", inputs);
    for (const auto& [name, shape] : step.feed.shapes)
      fields.require_known("calibration.shapes", name, "graph input", inputs);
    for (const auto& [name, value] : step.feed.poison)
      fields.require_known("calibration.poison", name, "graph input", inputs);
  }
  for (const auto& input : graph.inputs) {
    const auto shape = input_shape(read, input);
    if (!shape) fields.complain("inputs", shape.error().message);
  }
}

/// The keys that tell a reader about the case.
void read_words(const Fields& fields, Case& out) {
  out.family = fields.string("family");
  out.title = fields.string("title");
  if (out.title.empty()) fields.complain("title", "is missing: it says why the case exists");
  for (const Fields& origin : fields.objects("origin")) {
    origin.allow({"url", "reported_against", "defect", "upstream"});
    out.origins.push_back({origin.string("url"), origin.string("reported_against"), origin.string("defect")});
    if (origin.has("upstream")) out.origins.back().upstream = origin.strings("upstream");
  }
  out.tags = fields.strings("tags");
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

/// A family of cases that lie in ONNX's own test layout, which say everything themselves.
core::Result<std::vector<Case>> read_stored_cases(const std::string& name, const ordered_json& json,
                                                  const std::filesystem::path& file) {
  Problem problem;
  const Fields fields(json, "", problem);
  fields.allow({"family", "title", "origin", "tags", "stored_cases"});
  const Fields stored = fields.object("stored_cases");
  stored.allow({"folder", "missing"});
  Case common;
  common.file = file;
  read_words(fields, common);
  for (const std::string_view key : {"folder", "missing"}) {
    if (stored.string(key).empty()) stored.complain(key, "is missing");
  }
  if (problem) return *problem;
  std::vector<Case> cases;
  for (auto& [case_name, folder] : stored_cases(name, stored.string("folder"))) {
    cases.push_back(common);
    cases.back().name = case_name;
    cases.back().stored_case = folder;
    if (folder.empty()) {
      cases.back().unavailable = "no cases in " + stored.string("folder") + ": " + stored.string("missing");
    }
  }
  return cases;
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
  if (read.stored_data) {
    const auto data = folder_hash(*read.stored_data);
    if (!data) return data.error();
    text += *data;
  }
  return core::sha256_hex(text);
}

core::Result<Case> read_case(const std::string& name, const ordered_json& json, const std::filesystem::path& file) {
  Problem problem;
  const Fields fields(json, "", problem);
  fields.allow({"family", "title",       "origin",      "tags",         "graph",   "model",
                "sha256", "stored_data", "opset",       "initializers", "unused",  "inputs",
                "names",  "node_names",  "calibration", "options",      "made_by", "steps",
                "expect", "kills",       "metamorphic", "seed"});
  Case out;
  out.name = name;
  out.file = file;
  read_words(fields, out);
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
  out.made_by = fields.string("made_by");
  read_steps(fields, out);
  if (fields.has("expect")) out.expect = read_expectation(fields.object("expect"));
  if (!problem && out.model) check_references(fields, out);
  if (problem) return *problem;
  auto hash = content_hash(json, out);
  if (!hash) return hash.error();
  out.content_hash = std::move(*hash);
  return out;
}

core::Result<std::vector<Case>> parse_cases(const std::string& text, const std::filesystem::path& file) {
  const auto read_text = core::read_json<ordered_json>(text, {.unique_keys = true});
  if (!read_text) return case_error(read_text.error().message);
  const ordered_json& family = *read_text;
  if (!family.is_object() || !family.contains("family") || !family["family"].is_string()) {
    return case_error("family: is missing or not a string");
  }
  auto expanded = expand_family(family);
  if (!expanded) return expanded.error();
  std::vector<Case> cases;
  for (const auto& [name, json] : *expanded) {
    if (json.contains("stored_cases")) {
      auto stored = read_stored_cases(name, json, file);
      if (!stored) return stored.error().within(name);
      std::move(stored->begin(), stored->end(), std::back_inserter(cases));
      continue;
    }
    auto read = read_case(name, json, file);
    if (!read) return read.error().within(name);
    cases.push_back(std::move(*read));
  }
  return cases;
}

}  // namespace

core::Status load_deferred(Case& test_case) {
  return test_case.stored_case ? hash_stored_case(test_case) : load_remote(test_case);
}

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
