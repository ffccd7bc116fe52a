#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge.hpp"

namespace assay::judge {
namespace {

template <typename T>
bool lacks(const std::optional<std::vector<T>>& list, const T& value) {
  return list && std::ranges::find(*list, value) == list->end();
}

/// The precision that the case states for a node, by its name before its operator's; empty where it states none.
std::string stated_precision(const corpus::Case& test_case, const converters::Options& options,
                             const model::Node& node) {
  for (const std::string& key : {node.name, node.op_type}) {
    for (const auto* map : {&test_case.expect.precision, &options.precision}) {
      if (const auto found = map->find(key); found != map->end()) return found->second;
    }
  }
  return "";
}

/// Parts of the format rather than operators that somebody implements or not.
bool is_plumbing(const std::string& op) {
  return op == "Constant" || op == "Identity" || op == "QuantizeLinear" || op == "DequantizeLinear";
}

}  // namespace

std::optional<std::string> unsupported_reason(const converters::Description& converter, const corpus::Case& test_case,
                                              const converters::Options& options) {
  const converters::Supports& supports = converter.supports;
  const std::string activation(core::dtype_name(options.activation));
  if (lacks(supports.activation, activation)) return fmt::format("activation {}", activation);
  if (lacks(supports.symmetric, options.symmetric)) return fmt::format("symmetric: {}", options.symmetric);
  if (lacks(supports.per_axis, options.per_axis)) return fmt::format("per_axis: {}", options.per_axis);
  const std::string method(converters::method_name(options.method));
  if (lacks(supports.method, method)) return fmt::format("method {}", method);
  // Who reports no cache calibrates anew where one is to be reused, and can't be given a stale one.
  const auto stale = [](const corpus::Step& step) { return step.feed.cache == "stale"; };
  if (!supports.says("cache") && std::ranges::any_of(test_case.steps, stale)) return "a calibration cache";
  // A case that expects a refusal is about exactly what the converter can't do.
  if (test_case.expect.status == "refused" || test_case.model == nullptr) return std::nullopt;
  for (const model::Node& node : test_case.model->graph.nodes) {
    const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    if (is_plumbing(op)) continue;
    if (lacks(supports.operators, op)) return fmt::format("operator {} (node \"{}\")", op, node.name);
    if (lacks(supports.int8_operators, op) && stated_precision(test_case, options, node) == "int8") {
      return fmt::format("an INT8 form of operator {} (node \"{}\")", op, node.name);
    }
  }
  return std::nullopt;
}

}  // namespace assay::judge
