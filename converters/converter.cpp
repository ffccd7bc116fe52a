#include "converters/converter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/json.hpp"
#include "harness/core/text.hpp"

namespace assay::converters {
namespace {

using core::DType;
using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;
using nlohmann::json;

constexpr std::array<std::pair<Method, std::string_view>, 5> kMethods{{{Method::minmax, "minmax"},
                                                                       {Method::entropy, "entropy"},
                                                                       {Method::percentile, "percentile"},
                                                                       {Method::mse, "mse"},
                                                                       {Method::given, "given"}}};
constexpr std::array<std::pair<Outcome, std::string_view>, 6> kOutcomes{{{Outcome::ok, "ok"},
                                                                         {Outcome::refused, "refused"},
                                                                         {Outcome::error, "error"},
                                                                         {Outcome::crash, "crash"},
                                                                         {Outcome::timeout, "timeout"},
                                                                         {Outcome::oom, "oom"}}};

constexpr std::string_view kNone = "none";
constexpr std::int64_t kMostInABlock = 1 << 20;

Error bad(std::string message) { return Error{ErrorKind::usage, "options: " + std::move(message), "", "", ""}; }

Error bad_choice(std::string_view key, std::string_view value, std::span<const std::string> choices) {
  return bad(fmt::format("\"{}\" can't be \"{}\"; choose one of {}", key, value,
                         core::join(core::nearest(value, choices, choices.size()), ", ")));
}

/// Whatever can be asked for (a converter refuses by name what it lacks); anything else is a mistake.
Result<DType> read_code_type(std::string_view key, const json& value, const std::vector<std::string>& choices) {
  if (!value.is_string()) {
    return bad(fmt::format("\"{}\" must be a string, one of {}", key, core::join(choices, ", ")));
  }
  const auto text = value.get<std::string>();
  if (std::ranges::find(choices, text) == choices.end()) return bad_choice(key, text, choices);
  return text == kNone ? DType::undefined : *core::parse_dtype(text);
}

const std::vector<std::string> kActivationTypes{"int8",         "uint8",      "int16",           "uint16",
                                                "float8e4m3fn", "float8e5m2", std::string(kNone)};
const std::vector<std::string> kWeightTypes{"int8", "uint8", "int16",        "uint16",     "int4",      "uint4",
                                            "int2", "uint2", "float8e4m3fn", "float8e5m2", "float4e2m1"};
const std::vector<std::string> kScaleTypes{"float32", "float8e4m3fn", "float8e8m0"};

Result<std::int64_t> read_block(const json& value) {
  if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > kMostInABlock) {
    return bad(fmt::format("\"block_size\" must be an integer from 0 to {}, not {}", kMostInABlock, value.dump()));
  }
  return value.get<std::int64_t>();
}

Result<bool> read_bool(std::string_view key, const json& value) {
  if (!value.is_boolean()) return bad(fmt::format("\"{}\" must be true or false, not {}", key, value.dump()));
  return value.get<bool>();
}

Result<std::string> read_string(std::string_view key, const json& value) {
  if (!value.is_string()) return bad(fmt::format("\"{}\" must be a string, not {}", key, value.dump()));
  return value.get<std::string>();
}

Result<std::map<std::string, std::string>> read_precision(const json& value) {
  static const std::vector<std::string> choices{"int8", "int8?", "fp16", "fp32"};
  if (!value.is_object()) return bad("\"precision\" must be an object of operator types or node names");
  std::map<std::string, std::string> precision;
  for (const auto& [name, wanted] : value.items()) {
    const auto text = wanted.is_string() ? wanted.get<std::string>() : wanted.dump();
    if (std::ranges::find(choices, text) == choices.end()) return bad_choice("precision." + name, text, choices);
    precision[name] = text;
  }
  return precision;
}

template <typename T>
Status assign(Result<T> read, T& out) {
  if (!read) return read.error();
  out = std::move(*read);
  return core::success();
}

Status read_format(const json& value, Format& format) {
  const auto text = read_string("format", value);
  if (!text) return text.error();
  const std::optional<Format> known = core::find_word<Format>(*text);
  if (!known) return bad_choice("format", *text, core::all_words<Format>());
  format = *known;
  return core::success();
}

Status read_key(const std::string& key, const json& value, Options& options) {
  if (key == "activation") return assign(read_code_type(key, value, kActivationTypes), options.activation);
  if (key == "weight") return assign(read_code_type(key, value, kWeightTypes), options.weight);
  if (key == "scale_type") return assign(read_code_type(key, value, kScaleTypes), options.scale_type);
  if (key == "block_size") return assign(read_block(value), options.block);
  if (key == "dynamic") return assign(read_bool(key, value), options.dynamic);
  if (key == "symmetric") return assign(read_bool(key, value), options.symmetric);
  if (key == "per_axis") return assign(read_bool(key, value), options.per_axis);
  if (key == "precision") return assign(read_precision(value), options.precision);
  if (key == "cache") return assign(read_string(key, value), options.cache);
  if (key == "format") return read_format(value, options.format);
  if (key == "percentile") {
    if (!value.is_number() || !(value.get<double>() > 50) || !(value.get<double>() <= 100)) {
      return bad(fmt::format("\"percentile\" must be above 50 and at most 100, not {}", value.dump()));
    }
    options.percentile = value.get<double>();
    return core::success();
  }
  if (key == "method") {
    const auto text = read_string(key, value);
    if (!text) return text.error();
    for (const auto& [method, name] : kMethods) {
      if (name == *text) {
        options.method = method;
        return core::success();
      }
    }
    static const std::vector<std::string> choices{"minmax", "entropy", "percentile", "mse"};
    return bad_choice(key, *text, choices);
  }
  const std::vector<std::string>& keys = option_keys();
  return bad(
      fmt::format("there is no \"{}\"; the keys are {}", key, core::join(core::nearest(key, keys, keys.size()), ", ")));
}

}  // namespace

std::int64_t Options::needed_opset() const {
  const auto of = [](DType type) -> std::int64_t {
    if (type == DType::float4e2m1) return 23;
    if (core::element_size_bits(type) == 2) return 25;
    const bool later = core::is_real(type) || (core::is_integer(type) && core::element_size_bits(type) != 8);
    return later ? 21 : 0;
  };
  const std::int64_t scales = scale_type == DType::float8e8m0 ? 24 : 0;
  return std::max({std::int64_t{block != 0 ? 21 : 0}, of(activation), of(weight), scales});
}

std::string_view code_type_name(DType type) { return type == DType::undefined ? kNone : core::dtype_name(type); }

std::string_view scale_type_name(DType type) { return type == DType::float32 ? "float32" : core::dtype_name(type); }

const std::vector<std::string>& option_keys() {
  static const std::vector<std::string> keys{"activation", "weight",     "symmetric",  "per_axis",
                                             "method",     "percentile", "precision",  "cache",
                                             "format",     "block_size", "scale_type", "dynamic"};
  return keys;
}

std::string_view method_name(Method method) {
  for (const auto& [value, name] : kMethods) {
    if (value == method) return name;
  }
  return "?";
}

std::string_view outcome_name(Outcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  return "?";
}

Result<Options> options_from_json(const std::string& text, const Options& base) {
  const Result<json> read = core::read_json<json>(text);
  if (!read) return bad(read.error().message);
  const json& parsed = *read;
  if (!parsed.is_object()) return bad("must be a JSON object");
  Options options = base;
  for (const auto& [key, value] : parsed.items()) {
    if (auto known = read_key(key, value, options); !known) return known.error();
  }
  const bool real = core::is_real(options.activation);
  if (real) options.symmetric = true;  // its codes have no zero point
  if (!options.weights_only() && !parsed.contains("weight") && real != core::is_real(options.weight))
    options.weight = real ? DType::float8e4m3fn : DType::int8;
  // Of `base` stays what goes with what the JSON asks for.
  if (options.weights_only() && !parsed.contains("dynamic")) options.dynamic = false;
  if (!options.weights_only() && !parsed.contains("block_size")) options.block = 0;
  if (!options.weights_only() && options.block != 0) return bad(R"("block_size" goes with "activation": "none")");
  if (!options.weights_only() && !parsed.contains("scale_type")) options.scale_type = DType::float32;
  if (!options.weights_only() && options.scale_type != DType::float32)
    return bad(R"("scale_type" goes with "activation": "none")");
  // Nor have codes of floats, and scales that are rounded take no zero point into account.
  if (options.weights_only() && (core::is_real(options.weight) || options.scale_type != DType::float32))
    options.symmetric = true;
  if (options.weights_only() && options.dynamic) return bad(R"("dynamic" goes with a type of "activation")");
  return options;
}

std::string options_to_json(const Options& options) {
  json out{{"activation", code_type_name(options.activation)},
           {"weight", code_type_name(options.weight)},
           {"symmetric", options.symmetric},
           {"per_axis", options.per_axis},
           {"method", method_name(options.method)}};
  if (options.method == Method::percentile) out["percentile"] = options.percentile;
  if (!options.precision.empty()) out["precision"] = options.precision;
  if (!options.cache.empty()) out["cache"] = options.cache;
  if (options.format != Format::qdq) out["format"] = core::word_of(options.format);
  if (options.block != 0) out["block_size"] = options.block;
  if (options.scale_type != DType::float32) out["scale_type"] = scale_type_name(options.scale_type);
  if (options.dynamic) out["dynamic"] = true;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string options_label(const Options& options) {
  const Options usual;
  std::vector<std::string> parts;
  if (options.activation != usual.activation) parts.emplace_back(code_type_name(options.activation));
  if (options.weight != usual.weight) parts.push_back(fmt::format("weight={}", code_type_name(options.weight)));
  if (options.block != 0) parts.push_back(fmt::format("block={}", options.block));
  if (options.scale_type != usual.scale_type)
    parts.push_back(fmt::format("scales={}", scale_type_name(options.scale_type)));
  if (options.dynamic) parts.emplace_back("dynamic");
  if (options.symmetric) parts.emplace_back("symmetric");
  if (!options.per_axis) parts.emplace_back("per_tensor");
  if (options.method != usual.method) parts.emplace_back(method_name(options.method));
  if (options.method == Method::percentile && options.percentile != usual.percentile) {
    parts.back() += fmt::format("={}", core::exact_text64(options.percentile));
  }
  if (options.format != usual.format) parts.emplace_back(core::word_of(options.format));
  for (const auto& [name, wanted] : options.precision) parts.push_back(name + "=" + wanted);
  if (!options.cache.empty()) parts.emplace_back("cached");
  return parts.empty() ? "default" : core::join(parts, ",");
}

bool Supports::says(std::string_view what) const {
  const auto listed = [&](std::string_view word) { return std::ranges::find(reports, word) != reports.end(); };
  return listed(what) || (what == "tensors" && listed("activations"));
}

}  // namespace assay::converters
