#include "converters/protocol/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "converters/protocol/json_fields.hpp"
#include "converters/protocol/policy_fields.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"

namespace assay::protocol {
namespace {

using converters::ConvertReply;
using converters::Description;
using converters::ExecuteReply;
using converters::NodePrecision;
using converters::Outcome;
using converters::Policy;
using converters::Supports;
using converters::TensorScale;
using core::ErrorKind;

/// A list in `supports`: left out or a bare true means that everything may be tried, a bare false that nothing works.
template <typename T>
Status read_choice_list(const json& object, std::string_view key, std::optional<std::vector<T>>& out) {
  const json* value = find(object, key);
  if (value == nullptr || *value == true) return core::success();
  if (*value == false) {
    out.emplace();
    return core::success();
  }
  return read(object, key, out);
}

/// A bare true stands for [true,false] (docs/protocol.md).
Status read_choice_list(const json& object, std::string_view key, std::optional<std::vector<bool>>& out) {
  const json* value = find(object, key);
  if (value == nullptr) return core::success();
  if (value->is_boolean()) {
    out = value->get<bool>() ? std::vector<bool>{true, false} : std::vector<bool>{false};
    return core::success();
  }
  std::vector<bool> choices;
  for (const json& choice : *value) {
    if (!value->is_array() || !choice.is_boolean()) return wrong_kind(key, "true, false or a list of them", *value);
    choices.push_back(choice.get<bool>());
  }
  out = std::move(choices);
  return core::success();
}

Status read_supports(const json& object, Supports& supports) {
  return first_failure(
      read_choice_list(object, "activation", supports.activation),
      read_choice_list(object, "symmetric", supports.symmetric),
      read_choice_list(object, "per_axis", supports.per_axis), read_choice_list(object, "method", supports.method),
      read(object, "format", supports.format), read_choice_list(object, "weight", supports.weight),
      read_choice_list(object, "block_size", supports.block), read_choice_list(object, "dynamic", supports.dynamic),
      read_choice_list(object, "scale_type", supports.scale_type), read_choice_list(object, "models", supports.models),
      read_choice_list(object, "operators", supports.operators),
      read_choice_list(object, "int8_operators", supports.int8_operators), read(object, "execute", supports.execute),
      read(object, "artifact", supports.artifact), read(object, "reports", supports.reports),
      read(object, "trace", supports.trace), read(object, "optimizers", supports.optimizers));
}

using Ranges = std::map<std::string, std::pair<double, double>>;

/// An object of [low, high].
Status read_ranges(const json& object, std::string_view key, Ranges& out) {
  const json* ranges = find(object, key);
  if (ranges == nullptr) return core::success();
  if (!ranges->is_object()) return wrong_kind(key, "an object of [low, high]", *ranges);
  for (const auto& [op, range] : ranges->items()) {
    const auto low = range.is_array() && range.size() == 2 ? as_number(range[0]) : std::nullopt;
    const auto high = low ? as_number(range[1]) : std::nullopt;
    if (!high) return wrong_kind(fmt::format("{}.{}", key, op), "[low, high]", range);
    out[op] = {*low, *high};
  }
  return core::success();
}

Status read_policy_fields(const json& object, Policy& policy) {
  Status result = core::success();
  visit_policy(policy, [&]<typename T>(std::string_view key, T& field) {
    if (!result.ok()) return;
    if constexpr (std::is_same_v<T, Ranges>) {
      result = read_ranges(object, key, field);
    } else {
      result = read(object, key, field);
    }
  });
  return result;
}

/// The list under `key`, one number standing for a list of one.
Result<std::vector<const json*>> read_list(const json& object, std::string_view key) {
  std::vector<const json*> values;
  const json* list = find(object, key);
  if (list == nullptr) return values;
  if (list->is_object()) return wrong_kind(key, "a list", *list);
  if (!list->is_array()) return std::vector<const json*>{list};
  for (const json& value : *list) values.push_back(&value);
  return values;
}

Result<TensorScale> read_tensor_scale(const json& object) {
  TensorScale tensor;
  if (!object.is_object()) return wrong_kind("tensors", "a list of objects", object);
  std::string type = "int8";
  if (auto status = first_failure(read(object, "name", tensor.name), read(object, "type", type)); !status) {
    return status.error();
  }
  if (tensor.name.empty()) return broken("an entry of \"tensors\" has no name");
  const auto dtype = core::parse_dtype(type);
  if (!dtype) return broken(fmt::format("tensor \"{}\": \"type\" is \"{}\", no element type", tensor.name, type));
  tensor.params.type = *dtype;
  const auto scales = read_list(object, "scale");
  const auto zero_points = read_list(object, "zero_point");
  if (!scales) return scales.error();
  if (!zero_points) return zero_points.error();
  for (const json* value : *scales) {
    const auto real = as_number(*value);
    if (!real) return wrong_kind(tensor.name + ".scale", "a list of numbers", *value);
    tensor.params.scale.push_back(*real);
  }
  for (const json* value : *zero_points) {
    const auto integer = as_integer(*value);
    if (!integer) return wrong_kind(tensor.name + ".zero_point", "a list of integers", *value);
    tensor.params.zero_point.push_back(*integer);
  }
  if (tensor.params.zero_point.empty()) tensor.params.zero_point.assign(tensor.params.scale.size(), 0);
  if (tensor.params.scale.empty() || tensor.params.scale.size() != tensor.params.zero_point.size()) {
    return broken(fmt::format("tensor \"{}\" has {} scales and {} zero points; they must be as many, at least one",
                              tensor.name, tensor.params.scale.size(), tensor.params.zero_point.size()));
  }
  if (const json* axis = find(object, "axis"); axis != nullptr) {
    const auto integer = as_integer(*axis);
    if (!integer) return wrong_kind(tensor.name + ".axis", "an integer or null", *axis);
    tensor.params.axis = *integer;
  }
  if (const json* block = find(object, "block_size"); block != nullptr) {
    const auto integer = as_integer(*block);
    if (!integer || *integer < 1) return wrong_kind(tensor.name + ".block_size", "an integer above 0", *block);
    tensor.params.block = *integer;
  }
  return tensor;
}

Result<NodePrecision> read_node_precision(const json& object) {
  NodePrecision node;
  if (!object.is_object()) return wrong_kind("precision", "a list of objects", object);
  if (auto status =
          first_failure(read(object, "node", node.node), read(object, "op", node.op), read(object, "got", node.got));
      !status) {
    return status.error();
  }
  if (node.node.empty() || node.got.empty()) return broken("an entry of \"precision\" lacks \"node\" or \"got\"");
  return node;
}

/// Reads a list of objects, each by `read_one`.
template <typename T, typename ReadOne>
Status read_objects(const json& object, std::string_view key, ReadOne read_one, std::vector<T>& out) {
  const json* list = find(object, key);
  if (list == nullptr) return core::success();
  if (!list->is_array()) return wrong_kind(key, "a list of objects", *list);
  for (const json& entry : *list) {
    auto one = read_one(entry);
    if (!one) return one.error();
    out.push_back(std::move(*one));
  }
  return core::success();
}

/// A reply's object after its id and status have been checked.
struct Answer {
  json object;
  Outcome outcome = Outcome::error;
};

Result<Answer> read_answer(std::int64_t id, std::string_view line) {
  auto object = read_object(line);
  if (!object) return object.error();
  const json* answered = find(*object, "id");
  if (answered == nullptr) return broken(fmt::format("an answer without an id to request {}: {}", id, shown(line)));
  if (!answered->is_number_integer() || *answered != id) {
    return broken(fmt::format("the answer to request {} has id {}", id, text_of(*answered)));
  }
  std::string word;
  if (auto status = read(*object, "status", word); !status) return status.error();
  for (const Outcome outcome : {Outcome::ok, Outcome::refused, Outcome::error}) {
    if (word == converters::outcome_name(outcome)) return Answer{std::move(*object), outcome};
  }
  if (word.empty()) return broken("an answer without a status; ok, refused and error are known");
  return broken(fmt::format("unknown status \"{}\"; ok, refused and error are known", shown(word)));
}

/// node, op and reason of a refusal or an error.
template <typename Reply>
Status read_reasons(const json& object, Reply& reply) {
  return first_failure(read(object, "node", reply.node), read(object, "op", reply.op),
                       read(object, "reason", reply.reason));
}

/// The file that the reply names under `key`; it must exist.
Status read_file_name(const json& object, std::string_view key, const std::filesystem::path& folder,
                      std::filesystem::path& out) {
  std::string name;
  if (auto status = read(object, key, name); !status) return status;
  if (name.empty()) return core::success();
  out = folder / name;
  std::error_code failed;
  if (std::filesystem::exists(out, failed)) return core::success();
  return broken(fmt::format("\"{}\" names {}, which doesn't exist", key, out.string()));
}

}  // namespace

Result<Policy> read_policy(std::string_view text) {
  const auto object = read_object(text);
  if (!object) return object.error();
  std::vector<std::string> words;
  visit_policy(Policy(), [&](std::string_view key, const auto& /*field*/) { words.emplace_back(key); });
  for (const auto& [word, value] : object->items()) {
    if (std::ranges::find(words, word) != words.end()) continue;
    return broken(fmt::format("a policy has no \"{}\"; there are: {}", word,
                              core::join(core::nearest(word, words, words.size()), ", ")));
  }
  Policy policy;
  if (auto status = read_policy_fields(*object, policy); !status) return status.error();
  return policy;
}

Result<Request> read_request(std::string_view line) {
  const auto object = read_object(line);
  if (!object) return object.error();
  const json* version = find(*object, "protocol");
  if (version == nullptr || *version != kVersion) {
    return broken(fmt::format("this end speaks protocol {}, the request says {}", kVersion,
                              version == nullptr ? "nothing" : text_of(*version)));
  }
  const json* id = find(*object, "id");
  if (id == nullptr || !id->is_number_integer()) return broken("a request without an integer id");
  Request request;
  request.id = id->get<std::int64_t>();
  std::string word;
  if (auto status = read(*object, "do", word); !status) return status.error();
  constexpr std::array kVerbs{Verb::describe, Verb::convert, Verb::execute, Verb::quit};
  const auto* const verb = std::ranges::find_if(kVerbs, [&](Verb known) { return verb_name(known) == word; });
  if (verb == kVerbs.end()) {
    return broken(fmt::format("\"do\" is \"{}\"; describe, convert, execute and quit are known", shown(word)));
  }
  request.verb = *verb;

  std::vector<std::pair<const char*, std::filesystem::path*>> paths;
  if (request.verb == Verb::convert) {
    paths = {{"model", &request.convert.model},
             {"calibration", &request.convert.calibration},
             {"output", &request.convert.output}};
  }
  if (request.verb == Verb::execute) {
    paths = {{"artifact", &request.execute.artifact},
             {"inputs", &request.execute.inputs},
             {"output", &request.execute.output}};
  }
  for (const auto& [key, path] : paths) {
    std::string name;
    if (auto status = read(*object, key, name); !status) return status.error();
    if (name.empty()) return broken(fmt::format("{} needs \"{}\"", word, key));
    *path = name;
  }
  if (request.verb == Verb::execute) {
    std::string trace;
    if (auto status = read(*object, "trace", trace); !status) return status.error();
    request.execute.trace = trace;
    std::vector<std::string>& disabled = request.execute.disabled_optimizers;
    if (auto status = read(*object, "disabled_optimizers", disabled); !status) return status.error();
  }
  if (const json* options = find(*object, "options"); request.verb == Verb::convert && options != nullptr) {
    // Unknown keys are ignored in the protocol; the reader of options itself refuses them.
    json known = json::object();
    for (const std::string& key : converters::option_keys()) {
      if (const json* value = find(*options, key); value != nullptr) known[key] = *value;
    }
    auto read_options = converters::options_from_json(text_of(known));
    if (!read_options) return read_options.error().within("protocol");
    request.convert.options = std::move(*read_options);
  }
  return request;
}

std::optional<std::int64_t> read_id(std::string_view line) {
  const auto object = read_object(line);
  if (!object) return std::nullopt;
  const json* id = find(*object, "id");
  return id == nullptr ? std::nullopt : as_integer(*id);
}

Result<Description> read_description(std::int64_t id, std::string_view line) {
  const auto answer = read_answer(id, line);
  if (!answer) return answer.error();
  const json& object = answer->object;
  if (answer->outcome != Outcome::ok) {
    std::string reason = "no reason given";
    if (auto status = read(object, "reason", reason); !status) return status.error();
    return Error{ErrorKind::io, std::move(reason), "", "", ""};
  }
  Description description;
  if (auto status = first_failure(read(object, "name", description.name), read(object, "version", description.version),
                                  read(object, "unavailable", description.unavailable));
      !status) {
    return status.error();
  }
  if (description.name.empty()) return broken("the converter describes itself without a name");
  if (description.version.empty()) return broken("the converter describes itself without a version");
  for (const auto& [key, word] : {std::pair("name", &description.name), std::pair("version", &description.version)}) {
    if (core::visible_line(*word) != *word) {
      return broken(fmt::format("\"{}\" has control characters: {}", key, core::visible_line(*word)));
    }
  }
  if (const json* supports = find(object, "supports"); supports != nullptr) {
    if (!supports->is_object()) return wrong_kind("supports", "an object", *supports);
    if (auto status = read_supports(*supports, description.supports); !status) return status.error();
  }
  if (const json* policy = find(object, "policy"); policy != nullptr) {
    if (!policy->is_object()) return wrong_kind("policy", "an object", *policy);
    if (auto status = read_policy_fields(*policy, description.policy); !status) return status.error();
  }
  if (description.policy.calibrates != converters::CalibratedNetwork::float_network &&
      description.supports.artifact != converters::ArtifactKind::qdq) {
    return broken(
        fmt::format("policy \"calibrates\" is \"{}\", but of artifact \"{}\" nobody knows the codes: it needs "
                    "\"qdq\"",
                    core::word_of(description.policy.calibrates), core::word_of(description.supports.artifact)));
  }
  return description;
}

Result<ConvertReply> read_convert_reply(std::int64_t id, std::string_view line, const Supports& supports,
                                        const std::filesystem::path& folder) {
  const auto answer = read_answer(id, line);
  if (!answer) return answer.error();
  const json& object = answer->object;
  ConvertReply reply;
  reply.outcome = answer->outcome;
  if (auto status = first_failure(read_reasons(object, reply), read(object, "diagnostics", reply.diagnostics),
                                  read(object, "changed", reply.changed));
      !status) {
    return status.error();
  }
  if (reply.outcome != Outcome::ok) return reply;
  for (const char* what : {"tensors", "precision", "cache"}) {
    if (supports.says(what) && find(object, what) == nullptr) {
      return broken(fmt::format("\"reports\" lists \"{}\", but the reply to convert has none", what));
    }
  }
  if (auto status = first_failure(read_objects(object, "tensors", &read_tensor_scale, reply.tensors),
                                  read_objects(object, "precision", &read_node_precision, reply.precision),
                                  read_file_name(object, "artifact", folder, reply.artifact),
                                  read_file_name(object, "cache", folder, reply.cache));
      !status) {
    return status.error();
  }
  if (reply.artifact.empty()) return broken("the reply to convert names no artifact");
  return reply;
}

Result<ExecuteReply> read_execute_reply(std::int64_t id, std::string_view line) {
  const auto answer = read_answer(id, line);
  if (!answer) return answer.error();
  ExecuteReply reply;
  reply.outcome = answer->outcome;
  if (auto status = first_failure(read_reasons(answer->object, reply), read(answer->object, "trace", reply.trace));
      !status) {
    return status.error();
  }
  return reply;
}

}  // namespace assay::protocol
