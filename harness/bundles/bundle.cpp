#include "harness/bundles/bundle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "converters/protocol/messages.hpp"
#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/write_case.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::bundles {
namespace fs = std::filesystem;
using converters::Outcome;
using nlohmann::ordered_json;

namespace {

constexpr int kFormat = 1;
constexpr const char* kIndex = "bundle.json";

ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return core::exact_text64(value);
}

/// What lies below the bundle, as a path from there.
std::string inside(const fs::path& file, const fs::path& folder) {
  return file.empty() ? "" : file.lexically_relative(folder).string();
}

/// Protocol 1 has words for what a converter answers; what befell it is a word of its own.
ordered_json reply_json(const std::string& line, Outcome outcome) {
  auto json = core::json_or_discarded<ordered_json>(line);
  json.erase("id");
  json["status"] = converters::outcome_name(outcome);
  return json;
}

ordered_json conversion_json(const Conversion& conversion, const Bundle& bundle) {
  converters::ConvertReply reply = conversion.reply;
  reply.artifact = inside(reply.artifact, conversion.folder);
  reply.cache = inside(reply.cache, conversion.folder);
  return {{"folder", inside(conversion.folder, bundle.folder)},
          {"reply", reply_json(protocol::write_reply(1, reply, bundle.description.supports), reply.outcome)}};
}

ordered_json set_json(const RecordedSet& set) {
  ordered_json json{{"name", set.name}};
  if (set.reply) json["reply"] = reply_json(protocol::write_reply(1, *set.reply), set.reply->outcome);
  if (!set.trace.empty()) json["trace"] = set.trace;
  return json;
}

ordered_json relations_json(const metamorphic::RelationReport& relations) {
  ordered_json json{{"held", relations.held},
                    {"broken", relations.broken},
                    {"not_applicable", relations.not_applicable},
                    {"findings", ordered_json::array()}};
  for (const judge::Finding& finding : relations.findings) {
    json["findings"].push_back({{"stage", judge::stage_name(finding.stage)},
                                {"facet", judge::facet_name(finding.facet)},
                                {"node", finding.node},
                                {"op", finding.op},
                                {"tensor", finding.tensor},
                                {"data_set", finding.data_set},
                                {"layer", finding.layer},
                                {"message", finding.message},
                                {"margin", number(finding.margin)},
                                {"amber", finding.amber}});
  }
  return json;
}

/// What is wrong with the file, thrown while it is read.
struct Damaged {
  core::Error error;
};

[[noreturn]] void damaged(std::string message) {
  throw Damaged{{core::ErrorKind::invalid_data, std::move(message), {}, {}, {}}};
}

template <typename T>
T value_or_throw(core::Result<T> result, const std::string& what) {
  if (!result) damaged(what + ": " + result.error().message);
  return *std::move(result);
}

/// What the file names as a path below `folder`. A bundle may be a stranger's.
fs::path below(const fs::path& folder, const std::string& name) {
  return value_or_throw(core::confined_path(folder, name), "a path");
}

Outcome read_outcome(const std::string& word) {
  for (const Outcome outcome :
       {Outcome::ok, Outcome::refused, Outcome::error, Outcome::crash, Outcome::timeout, Outcome::oom}) {
    if (converters::outcome_name(outcome) == word) return outcome;
  }
  damaged("\"" + word + "\" is no outcome of a request");
}

/// The line that protocol 1 reads: what befell a converter is no word there.
std::string reply_line(ordered_json reply, Outcome outcome) {
  reply["id"] = 1;
  if (outcome != Outcome::ok && outcome != Outcome::refused) reply["status"] = "error";
  return reply.dump();
}

Conversion read_conversion(const ordered_json& json, const Bundle& bundle) {
  Conversion conversion;
  conversion.folder = below(bundle.folder, json.at("folder").get<std::string>());
  const Outcome outcome = read_outcome(json.at("reply").at("status").get<std::string>());
  converters::Supports supports = bundle.description.supports;
  supports.reports.clear();  // what it lacked then is the verdict, not damage
  conversion.reply = value_or_throw(
      protocol::read_convert_reply(1, reply_line(json.at("reply"), outcome), supports, conversion.folder), "reply");
  conversion.reply.outcome = outcome;
  for (const fs::path& file : {conversion.reply.artifact, conversion.reply.cache}) {
    if (!file.empty()) static_cast<void>(below(conversion.folder, fs::absolute(file)));
  }
  return conversion;
}

RecordedSet read_set(const ordered_json& json, const fs::path& folder) {
  RecordedSet set{json.at("name").get<std::string>(), std::nullopt, {}};
  for (const fs::path& place : {inputs_folder(folder, ""), outputs_folder(folder, ""), trace_folder(folder, "")}) {
    static_cast<void>(below(place, set.name));
  }
  if (json.contains("reply")) {
    const Outcome outcome = read_outcome(json["reply"].at("status").get<std::string>());
    set.reply = value_or_throw(protocol::read_execute_reply(1, reply_line(json["reply"], outcome)), "reply");
    set.reply->outcome = outcome;
  }
  if (json.contains("trace")) set.trace = json["trace"].get<std::vector<std::string>>();
  return set;
}

metamorphic::RelationReport read_relations(const ordered_json& json) {
  metamorphic::RelationReport relations{{}, json.at("held"), json.at("broken"), json.at("not_applicable"), {}};
  for (const ordered_json& each : json.at("findings")) {
    judge::Finding finding;
    const auto stage = judge::parse_stage(each.at("stage").get<std::string>());
    const auto facet = judge::parse_facet(each.at("facet").get<std::string>());
    if (!stage || !facet) damaged("a finding has an unknown stage or facet");
    finding.stage = *stage;
    finding.facet = *facet;
    finding.node = each.at("node");
    finding.op = each.at("op");
    finding.tensor = each.at("tensor");
    finding.data_set = each.at("data_set");
    finding.layer = each.at("layer");
    finding.message = each.at("message");
    finding.margin =
        each.at("margin").is_number() ? each["margin"].get<double>() : std::numeric_limits<double>::infinity();
    finding.amber = each.at("amber");
    relations.findings.push_back(std::move(finding));
  }
  return relations;
}

/// A name, which has no line end and nothing else that a terminal obeys.
std::string line_of(const ordered_json& json) {
  std::string name = json.get<std::string>();
  if (core::visible_line(name) != name) damaged("the name \"" + core::visible_line(name) + "\" has control characters");
  return name;
}

corpus::Case read_case(const ordered_json& json, const fs::path& index) {
  for (const char* key : {"model", "stored_data"}) {
    if (json.at("file").contains(key))
      static_cast<void>(below(index.parent_path(), json["file"][key].get<std::string>()));
  }
  std::vector<corpus::Case> cases =
      value_or_throw(corpus::parse_family(json.at("file").dump(), index), "the case can't be read");
  if (cases.size() != 1) damaged("the case is not one");
  cases.front().name = line_of(json.at("name"));
  cases.front().content_hash = json.at("content_hash");
  return std::move(cases.front());
}

/// Older bundles don't say it: what was made up has names of its own.
judge::DataSource read_source(const ordered_json& json, const Bundle& bundle) {
  const bool own_names = std::ranges::any_of(
      bundle.sets, [](const RecordedSet& set) { return set.name != "typical" && !set.name.starts_with("inputs_"); });
  const judge::DataSource guess = own_names ? judge::DataSource::generated : judge::DataSource::given;
  const std::string name = json.value("inputs", std::string(judge::data_source_name(guess)));
  return judge::parse_data_source(name).value_or(guess);
}

data::UserData read_data(const ordered_json& json, const Bundle& bundle) {
  data::UserData data;
  data.calibrated = json.at("calibrated");
  data.inputs_source = read_source(json, bundle);
  for (const ordered_json& each : json.at("feeds")) {
    data::Feed feed{below(bundle.folder, each.at("folder").get<std::string>()), {}};
    for (std::size_t index = 0; index < each.at("batches").get<std::size_t>(); ++index) {
      const fs::path batch = feed.folder / fmt::format("{:04}", index);
      feed.batches.push_back(value_or_throw(model::load_tensors(batch, "input"), batch.string()));
    }
    if (data.calibration.empty()) data.calibration = feed.batches;
    data.feeds.emplace(each.at("key"), std::move(feed));
  }
  for (const RecordedSet& set : bundle.sets) {
    const fs::path folder = inputs_folder(bundle.folder, set.name);
    data.names.push_back(set.name);
    data.inputs.push_back(value_or_throw(model::load_tensors(folder, "input"), folder.string()));
    for (const model::ValueInfo& input : bundle.test_case.model->graph.inputs) {
      if (!data.inputs.back().contains(input.name)) damaged(folder.string() + " lacks input \"" + input.name + "\"");
    }
  }
  return data;
}

Bundle read_index(const ordered_json& json, const fs::path& folder) {
  if (!json.is_object() || !json.contains("assay_bundle")) damaged("is no bundle");
  if (json["assay_bundle"] != kFormat) {
    damaged(fmt::format("has format {}; this Assay reads format {}", json["assay_bundle"].dump(), kFormat));
  }
  Bundle bundle;
  bundle.folder = folder;
  const ordered_json& converter = json.at("converter");
  const ordered_json& asked = converter.at("asked");
  bundle.asked = {asked.at("name"), asked.at("command"), asked.at("faults"), asked.at("variant")};
  ordered_json description = converter.at("description");
  description["id"] = 1;
  bundle.description = value_or_throw(protocol::read_description(1, description.dump()), "converter.description");
  bundle.test_case = read_case(json.at("case"), folder / kIndex);
  const ordered_json& options = json.at("options");
  bundle.options = {line_of(options.at("label")), options.at("set").dump()};
  bundle.options_stated = options.at("stated");
  bundle.ready_artifact = json.at("ready_artifact");
  for (const ordered_json& each : json.at("conversions")) bundle.conversions.push_back(read_conversion(each, bundle));
  if (bundle.ready_artifact && bundle.conversions.empty()) damaged("holds no artifact");
  for (const ordered_json& each : json.at("data_sets")) bundle.sets.push_back(read_set(each, folder));
  bundle.relations = read_relations(json.at("relations"));
  bundle.data = read_data(json.at("data"), bundle);
  bundle.verdict = json.at("verdict");
  if (!bundle.verdict.is_object()) damaged("\"verdict\" is no object");
  return bundle;
}

}  // namespace

fs::path inputs_folder(const fs::path& bundle, const std::string& set) { return bundle / "inputs" / set; }

fs::path outputs_folder(const fs::path& bundle, const std::string& set) { return bundle / "outputs" / set; }

fs::path trace_folder(const fs::path& bundle, const std::string& set) { return bundle / "trace" / set; }

ordered_json params_json(const core::QuantParams& params) {
  ordered_json scales = ordered_json::array();
  for (const double scale : params.scale) scales.push_back(number(scale));
  ordered_json json{{"scale", std::move(scales)},
                    {"zero_point", params.zero_point},
                    {"type", core::dtype_name(params.type)},
                    {"axis", params.axis ? ordered_json(*params.axis) : ordered_json(nullptr)}};
  if (params.block != 0) json["block_size"] = params.block;
  if (params.scale_type != core::DType::float32) json["scale_type"] = core::dtype_name(params.scale_type);
  return json;
}

core::Status write_index(const Bundle& bundle) {
  ordered_json json{{"assay_bundle", kFormat}, {"verdict", bundle.verdict}};
  ordered_json file = corpus::case_json(bundle.test_case);
  file["model"] = "model.onnx";
  json["case"] = {
      {"name", bundle.test_case.name}, {"content_hash", bundle.test_case.content_hash}, {"file", std::move(file)}};
  json["options"] = {{"label", bundle.options.label},
                     {"set", core::json_or_discarded<ordered_json>(bundle.options.options_json)},
                     {"stated", bundle.options_stated}};
  auto description = core::json_or_discarded<ordered_json>(protocol::write_description(1, bundle.description));
  description.erase("id");
  json["converter"] = {{"name", bundle.description.name},
                       {"version", bundle.description.version},
                       {"asked",
                        {{"name", bundle.asked.name},
                         {"command", bundle.asked.command},
                         {"faults", bundle.asked.faults},
                         {"variant", bundle.asked.variant}}},
                       {"description", std::move(description)}};
  json["ready_artifact"] = bundle.ready_artifact;
  json["conversions"] = ordered_json::array();
  for (const Conversion& each : bundle.conversions) json["conversions"].push_back(conversion_json(each, bundle));
  json["data_sets"] = ordered_json::array();
  for (const RecordedSet& each : bundle.sets) json["data_sets"].push_back(set_json(each));
  json["relations"] = relations_json(bundle.relations);
  json["data"] = {{"calibrated", bundle.data.calibrated},
                  {"inputs", judge::data_source_name(bundle.data.inputs_source)},
                  {"feeds", ordered_json::array()}};
  for (const auto& [key, feed] : bundle.data.feeds) {
    json["data"]["feeds"].push_back(
        {{"key", key}, {"folder", inside(feed.folder, bundle.folder)}, {"batches", feed.batches.size()}});
  }
  json.update(bundle.facts);
  return core::write_file(bundle.folder / kIndex,
                          json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

core::Result<Bundle> read_bundle(const fs::path& folder) {
  std::error_code code;
  const fs::path place = fs::absolute(folder, code).lexically_normal();
  const std::string name = (folder / kIndex).string();
  const core::Result<std::string> text = core::read_file(place / kIndex);
  if (!text) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("\"{}\" is no bundle: {}", folder.string(), text.error().message),
                       {},
                       {},
                       {}};
  }
  const auto json = core::read_json<ordered_json>(*text);
  if (!json) return json.error().within(name);
  try {
    return read_index(*json, place);
  } catch (const Damaged& damage) {
    return damage.error.within(name);
  } catch (const ordered_json::exception& error) {
    return core::Error{core::ErrorKind::invalid_data, fmt::format("{}: {}", name, error.what()), {}, {}, {}};
  }
}

}  // namespace assay::bundles
