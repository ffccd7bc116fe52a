#include "harness/judge/evidence/supports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/evidence/precision.hpp"

namespace assay::judge {
namespace {

template <typename T>
bool lacks(const std::optional<std::vector<T>>& list, const T& value) {
  return list && std::ranges::find(*list, value) == list->end();
}

using model::operator_name;
using Precisions = std::map<std::string, std::string>;

/// What a map says of a node, by its name before its operator's; nothing where it doesn't.
std::optional<Precision> stated(const Precisions& map, const model::Node& node) {
  for (const std::string& key : {node.name, operator_name(node)}) {
    const auto found = map.find(key);
    if (found == map.end()) continue;
    if (const auto precision = precision_of(found->second)) return *precision;
  }
  return std::nullopt;
}

/// A case may demand an INT8 form of an operator, or be about an operator that has none. Empty where the converter
/// declares nothing, or what the case takes for granted.
std::string int8_form_trouble(const converters::Supports& supports, const corpus::Expectation& expect,
                              const Precisions& asked, const model::Node& node) {
  if (!supports.int8_operators) return "";
  const bool has_form = !lacks(supports.int8_operators, operator_name(node));
  const std::optional<Precision> expected = stated(expect.precision, node), demanded = stated(asked, node);
  const bool refuses = expect.status == "refused";
  if (!has_form && !refuses && expected.value_or(demanded.value_or(Precision::fp32)) == Precision::int8) {
    return "an INT8 form";
  }
  const bool takes_for_float = refuses ? demanded == Precision::int8 && expect.refused_op == node.op_type
                                       : expected == Precision::fp32 && demanded != Precision::fp32;
  return has_form && takes_for_float ? "the lack of an INT8 form" : "";
}

/// Parts of the format rather than operators that somebody implements or not.
bool is_plumbing(const std::string& op) {
  return op == "Constant" || op == "Identity" || op == "QuantizeLinear" || op == "DequantizeLinear";
}

/// Whether the case itself sets an option, whatever option set it is run under.
bool case_sets(const corpus::Case& test_case, std::string_view key) {
  const auto sets = [&](const std::string& json) {
    const auto options = core::json_or_discarded<nlohmann::json>(json);
    return options.is_object() && options.contains(std::string(key));
  };
  return sets(test_case.options_json) ||
         std::ranges::any_of(test_case.steps, [&](const corpus::Step& step) { return sets(step.options_json); });
}

/// Who asks for an option's value that the converter doesn't list, and what it lists. Nothing where it does.
template <typename T>
std::optional<std::string> option_trouble(const corpus::Case& test_case, std::string_view key,
                                          const std::optional<std::vector<T>>& listed, const T& value) {
  if (!lacks(listed, value)) return std::nullopt;
  std::vector<std::string> words;
  for (const T& each : *listed) words.push_back(fmt::format("{}", each));
  return fmt::format("{}{} {}, the converter supports {}", case_sets(test_case, key) ? "the case requires " : "", key,
                     value, words.empty() ? "none" : core::join(words, " or "));
}

}  // namespace

bool lies_outside(const converters::Supports& supports, const model::Node& node) {
  const std::string op = operator_name(node);
  return !is_plumbing(op) && lacks(supports.operators, op);
}

std::optional<std::string> unsupported_reason(const converters::Description& converter, const corpus::Case& test_case,
                                              const converters::Options& options, bool last_step) {
  if (!converter.unavailable.empty()) return converter.unavailable;
  const converters::Supports& supports = converter.supports;
  const std::string activation(converters::code_type_name(options.activation));
  const std::string weight(converters::code_type_name(options.weight));
  if (options.weights_only() && !supports.activation) return "weights that alone are quantized";
  if (options.dynamic && !supports.dynamic) return "ranges that each inference finds (option dynamic)";
  if (options.dynamic && (core::element_size_bits(options.activation) != 8 || core::is_real(options.activation)))
    return fmt::format("ranges that each inference finds, for codes of type {}", activation);
  const std::string scale_type(converters::scale_type_name(options.scale_type));
  if (options.scale_type != core::DType::float32 && !supports.scale_type)
    return fmt::format("scales of type {} (option scale_type)", scale_type);
  if (auto trouble = option_trouble(test_case, "scale_type", supports.scale_type, scale_type)) return trouble;
  if (auto trouble = option_trouble(test_case, "activation", supports.activation, activation)) return trouble;
  if (auto trouble = option_trouble(test_case, "weight", supports.weight, weight)) return trouble;
  if (auto trouble = option_trouble(test_case, "block_size", supports.block, options.block)) return trouble;
  if (auto trouble = option_trouble(test_case, "dynamic", supports.dynamic, options.dynamic)) return trouble;
  if (auto trouble = option_trouble(test_case, "symmetric", supports.symmetric, options.symmetric)) return trouble;
  if (auto trouble = option_trouble(test_case, "per_axis", supports.per_axis, options.per_axis)) return trouble;
  if (options.method == converters::Method::given)
    return "method given, which is of ready artifacts (check --artifact)";
  const std::string method(converters::method_name(options.method));
  if (auto trouble = option_trouble(test_case, "method", supports.method, method)) return trouble;
  const std::optional<std::vector<std::string>> formats = supports.format;
  const std::string format(core::word_of(options.format));
  if (auto trouble = option_trouble(test_case, "format", formats, format)) return trouble;
  // Who reports no cache calibrates anew where one is to be reused, and can't be given a spoilt one.
  const auto spoilt = [](const corpus::Step& step) {
    const corpus::FeedSpec& feed = step.feed;
    const bool from_elsewhere = !feed.cache.empty() && feed.cache != "previous";
    return from_elsewhere || !feed.forget.empty() || !feed.edit.empty() || feed.batches == 0;
  };
  if (!supports.says("cache") && std::ranges::any_of(test_case.steps, spoilt)) return "a calibration cache";
  if (test_case.model == nullptr) return std::nullopt;
  const bool quantized = model::is_quantized(test_case.model->graph);
  if (lacks(supports.models, std::string(quantized ? "qdq" : "float"))) {
    return quantized ? "a model that is quantized already" : "a model that isn't quantized already";
  }
  for (const model::Node& node : test_case.model->graph.nodes) {
    const std::string op = operator_name(node);
    if (is_plumbing(op)) continue;
    // A case that expects a refusal is about exactly what the converter can't do.
    if (test_case.expect.status != "refused" && lies_outside(supports, node)) {
      return fmt::format("operator {} (node \"{}\")", op, node.name);
    }
    if (!last_step) continue;  // what the case expects is said of the last step
    const std::string trouble = int8_form_trouble(supports, test_case.expect, options.precision, node);
    if (!trouble.empty()) return fmt::format("{} of operator {} (node \"{}\")", trouble, op, node.name);
  }
  return std::nullopt;
}

}  // namespace assay::judge
