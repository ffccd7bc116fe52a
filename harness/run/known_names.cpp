#include "harness/run/known_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "reference/op.hpp"

namespace assay::run {
namespace {

using Names = std::set<std::string, std::less<>>;

void add_nodes(const model::Graph& graph, Names& nodes, Names& operators) {
  for (const model::Node& node : graph.nodes) {
    nodes.insert(node.name);
    operators.insert(model::operator_name(node));
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* body = std::get_if<model::GraphPtr>(&attribute)) {
        add_nodes(**body, nodes, operators);
      }
    }
  }
}

/// What a key of options.precision may be.
struct Known {
  Names nodes;
  Names operators{"*"};

  Known() {
    for (const reference::OpDef* op : reference::all_operators()) {
      operators.insert(model::operator_name(op->domain, op->name));
    }
  }
  explicit Known(const model::Graph& graph) : Known() { add_nodes(graph, nodes, operators); }
  [[nodiscard]] bool has(const std::string& key) const { return nodes.contains(key) || operators.contains(key); }
};

/// Up to four of `names`, nearest first, each in quotes.
std::string nearest_text(const std::string& word, const Names& names) {
  constexpr std::size_t kShown = 4;
  const std::vector<std::string> all(names.begin(), names.end());
  return "\"" + core::join(core::nearest(word, all, kShown), "\", \"") + "\"";
}

std::string unknown_text(const std::string& key, const Known& known) {
  const std::string operators = nearest_text(key, known.operators);
  if (known.nodes.empty()) {
    return fmt::format(
        "options: precision: \"{}\" is no operator, and there is no model whose nodes could be named; the nearest "
        "operators are: {}",
        key, operators);
  }
  return fmt::format(
      "options: precision: the model has no node \"{0}\", and \"{0}\" is no operator; the nearest nodes are: {1}; the "
      "nearest operators: {2}",
      key, nearest_text(key, known.nodes), operators);
}

core::Status check_precision(const converters::Options& options, const Known& known) {
  for (const auto& [key, wanted] : options.precision) {
    if (!known.has(key)) {
      return core::usage_error(unknown_text(key, known));
    }
  }
  return core::success();
}

}  // namespace

core::Status check_precision_names(const converters::Options& options, const model::Graph& graph) {
  return options.precision.empty() ? core::success() : check_precision(options, Known(graph));
}

core::Status check_precision_operators(const converters::Options& options) { return check_precision(options, Known()); }

std::string options_for_part(const std::string& options_json, const model::Graph& graph) {
  auto options = core::json_or_discarded<nlohmann::ordered_json>(options_json);
  if (!options.is_object() || !options.contains("precision") || !options["precision"].is_object()) {
    return options_json;
  }
  const Known known(graph);
  nlohmann::ordered_json kept = nlohmann::ordered_json::object();
  for (const auto& [key, wanted] : options["precision"].items()) {
    if (known.has(key)) {
      kept[key] = wanted;
    }
  }
  if (kept.empty()) {
    options.erase("precision");
  } else {
    options["precision"] = std::move(kept);
  }
  return options.dump();
}

core::Status check_fault_nodes(const std::vector<std::string>& faults, const model::Graph& graph) {
  Names nodes, operators;
  add_nodes(graph, nodes, operators);
  for (const std::string& fault : faults) {
    const std::size_t at = fault.find('@');
    if (at != std::string::npos && !nodes.contains(fault.substr(at + 1))) {
      const std::string node = fault.substr(at + 1);
      return core::usage_error(fmt::format("--fault {}: the model has no node \"{}\"; the nearest are: {}", fault, node,
                                           nearest_text(node, nodes)));
    }
  }
  return core::success();
}

}  // namespace assay::run
