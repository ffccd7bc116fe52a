#include "harness/judge/evidence/supports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/judge/evidence/precision.hpp"

namespace assay::judge {
namespace {

template <typename T>
bool lacks(const std::optional<std::vector<T>>& list, const T& value) {
  return list && std::ranges::find(*list, value) == list->end();
}

using Precisions = std::map<std::string, std::string>;

/// What a map says of a node, by its name before its operator's; nothing where it doesn't.
std::optional<Precision> stated(const Precisions& map, const model::Node& node) {
  for (const std::string& key : {node.name, node.op_type}) {
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
  const bool has_form = !lacks(supports.int8_operators, node.op_type);
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

}  // namespace

std::optional<std::string> unsupported_reason(const converters::Description& converter, const corpus::Case& test_case,
                                              const converters::Options& options, bool last_step) {
  if (!converter.unavailable.empty()) return converter.unavailable;
  const converters::Supports& supports = converter.supports;
  const std::string activation(core::dtype_name(options.activation));
  if (lacks(supports.activation, activation)) return fmt::format("activation {}", activation);
  if (lacks(supports.symmetric, options.symmetric)) return fmt::format("symmetric: {}", options.symmetric);
  if (lacks(supports.per_axis, options.per_axis)) return fmt::format("per_axis: {}", options.per_axis);
  if (options.method == converters::Method::given)
    return "method given, which is of ready artifacts (check --artifact)";
  const std::string method(converters::method_name(options.method));
  if (lacks(supports.method, method)) return fmt::format("method {}", method);
  // Who reports no cache calibrates anew where one is to be reused, and can't be given a spoilt one.
  const auto spoilt = [](const corpus::Step& step) { return step.feed.cache == "stale" || !step.feed.forget.empty(); };
  if (!supports.says("cache") && std::ranges::any_of(test_case.steps, spoilt)) return "a calibration cache";
  if (test_case.model == nullptr) return std::nullopt;
  const bool quantized = model::is_quantized(test_case.model->graph);
  if (lacks(supports.models, std::string(quantized ? "qdq" : "float"))) {
    return quantized ? "a model that is quantized already" : "a model that isn't quantized already";
  }
  for (const model::Node& node : test_case.model->graph.nodes) {
    const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    if (is_plumbing(op)) continue;
    // A case that expects a refusal is about exactly what the converter can't do.
    if (test_case.expect.status != "refused" && lacks(supports.operators, op)) {
      return fmt::format("operator {} (node \"{}\")", op, node.name);
    }
    if (!last_step) continue;  // what the case expects is said of the last step
    const std::string trouble = int8_form_trouble(supports, test_case.expect, options.precision, node);
    if (!trouble.empty()) return fmt::format("{} of operator {} (node \"{}\")", trouble, op, node.name);
  }
  return std::nullopt;
}

}  // namespace assay::judge
