#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "converters/protocol/json_fields.hpp"
#include "converters/protocol/messages.hpp"
#include "converters/protocol/policy_fields.hpp"
#include "harness/core/json.hpp"

namespace assay::protocol {
namespace {

using converters::ConvertReply;
using converters::Description;
using converters::ExecuteReply;
using converters::Outcome;
using converters::Policy;
using converters::Supports;
using converters::TensorScale;

json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

json head(std::int64_t id, std::string_view status) { return json{{"id", id}, {"status", status}}; }

/// Sets `key` unless there is nothing to say.
void put(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

template <typename T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

template <typename Reply>
json reply_head(std::int64_t id, const Reply& reply) {
  const bool known = reply.outcome == Outcome::ok || reply.outcome == Outcome::refused;
  json object = head(id, converters::outcome_name(known ? reply.outcome : Outcome::error));
  put(object, "node", reply.node);
  put(object, "op", reply.op);
  put(object, "reason", reply.reason);
  return object;
}

json tensor_object(const TensorScale& tensor) {
  json scales = json::array();
  for (const double scale : tensor.params.scale) scales.push_back(number(scale));
  json object{{"name", tensor.name},
              {"scale", std::move(scales)},
              {"zero_point", tensor.params.zero_point},
              {"type", core::dtype_name(tensor.params.type)},
              {"axis", nullptr}};
  if (tensor.params.axis) object["axis"] = *tensor.params.axis;
  if (tensor.params.block != 0) object["block_size"] = tensor.params.block;
  return object;
}

json policy_object(const Policy& how) {
  json policy = json::object();
  visit_policy(how, [&]<typename T>(const char* key, const T& field) {
    if constexpr (core::Worded<T>) {
      policy[key] = core::word_of(field);
    } else if constexpr (std::is_same_v<T, double>) {
      policy[key] = number(field);
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::vector<std::string>>) {
      policy[key] = field;
    } else if constexpr (requires { field.has_value(); }) {
      put(policy, key, field);
    } else {
      policy[key] = json::object();
      for (const auto& [op, range] : field) policy[key][op] = {number(range.first), number(range.second)};
    }
  });
  return policy;
}

}  // namespace

std::string write_policy(const Policy& policy) { return text_of(policy_object(policy)); }

std::string_view verb_name(Verb verb) {
  switch (verb) {
    case Verb::describe:
      return "describe";
    case Verb::convert:
      return "convert";
    case Verb::execute:
      return "execute";
    case Verb::quit:
      break;
  }
  return "quit";
}

std::string write_request(const Request& request) {
  json object{{"protocol", kVersion}, {"id", request.id}, {"do", verb_name(request.verb)}};
  if (request.verb == Verb::convert) {
    object["model"] = request.convert.model.string();
    object["calibration"] = request.convert.calibration.string();
    object["options"] = core::json_or_discarded<json>(converters::options_to_json(request.convert.options));
    object["output"] = request.convert.output.string();
  }
  if (request.verb == Verb::execute) {
    object["artifact"] = request.execute.artifact.string();
    object["inputs"] = request.execute.inputs.string();
    object["output"] = request.execute.output.string();
    put(object, "trace", request.execute.trace.string());
    const std::vector<std::string>& disabled = request.execute.disabled_optimizers;
    if (!disabled.empty()) object["disabled_optimizers"] = disabled;
  }
  return text_of(object);
}

std::string write_description(std::int64_t id, const Description& description) {
  const Supports& can = description.supports;
  json supports{{"execute", can.execute}, {"artifact", core::word_of(can.artifact)}, {"reports", can.reports}};
  put(supports, "activation", can.activation);
  put(supports, "symmetric", can.symmetric);
  put(supports, "per_axis", can.per_axis);
  put(supports, "method", can.method);
  put(supports, "weight", can.weight);
  put(supports, "block_size", can.block);
  put(supports, "scale_type", can.scale_type);
  put(supports, "dynamic", can.dynamic);
  if (can.format != Supports().format) supports["format"] = can.format;
  put(supports, "models", can.models);
  put(supports, "operators", can.operators);
  put(supports, "int8_operators", can.int8_operators);
  if (can.trace) supports["trace"] = true;
  if (!can.optimizers.empty()) supports["optimizers"] = can.optimizers;

  json object = head(id, "ok");
  object["name"] = description.name;
  object["version"] = description.version;
  put(object, "unavailable", description.unavailable);
  object["supports"] = std::move(supports);
  object["policy"] = policy_object(description.policy);
  return text_of(object);
}

std::string write_reply(std::int64_t id, const ConvertReply& reply, const Supports& supports) {
  json object = reply_head(id, reply);
  put(object, "artifact", reply.artifact.string());
  put(object, "cache", reply.cache.string());
  if (!reply.diagnostics.empty()) object["diagnostics"] = reply.diagnostics;
  if (!reply.changed.empty()) object["changed"] = reply.changed;
  if (reply.outcome == Outcome::ok && (supports.says("tensors") || !reply.tensors.empty())) {
    object["tensors"] = json::array();
    for (const TensorScale& tensor : reply.tensors) object["tensors"].push_back(tensor_object(tensor));
  }
  if (reply.outcome == Outcome::ok && (supports.says("precision") || !reply.precision.empty())) {
    object["precision"] = json::array();
    for (const auto& [node, op, got] : reply.precision) {
      object["precision"].push_back({{"node", node}, {"op", op}, {"got", got}});
    }
  }
  return text_of(object);
}

std::string write_reply(std::int64_t id, const ExecuteReply& reply) {
  json object = reply_head(id, reply);
  if (!reply.trace.empty()) object["trace"] = reply.trace;
  return text_of(object);
}

std::string write_error(std::int64_t id, std::string_view reason) {
  json object = head(id, "error");
  object["reason"] = reason;
  return text_of(object);
}

}  // namespace assay::protocol
