#include "harness/corpus/case_model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/corpus/case_error.hpp"
#include "harness/corpus/read_tensor_spec.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/model/rename.hpp"

namespace assay::corpus {
namespace {

std::map<std::string, std::int64_t> read_opsets(const Fields& fields) {
  if (!fields.has("opset")) return {{"", 13}};
  if (!fields.raw("opset").is_object()) return {{"", fields.integer("opset", 13)}};
  std::map<std::string, std::int64_t> opsets;
  const Fields object = fields.object("opset");
  for (const std::string& domain : object.keys()) opsets[domain == "ai.onnx" ? "" : domain] = object.integer(domain);
  return opsets;
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

/// "node "y" (Conv) reads "bb", which nothing makes; ": the first such input, which may be a misspelt initializer.
std::string unmade_text(const model::Graph& graph, std::set<std::string> made) {
  made.merge(tensor_names(graph));
  for (const model::Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      if (input.empty() || made.contains(input)) continue;
      const std::string name = node.name.empty() ? "" : "\"" + node.name + "\" ";
      return "node " + name + "(" + node.op_type + ") reads \"" + input + "\", which nothing makes; ";
    }
  }
  return "";
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
      const std::vector<std::string> keys = all.keys();
      all.complain(name, unmade_text(graph, {keys.begin(), keys.end()}) +
                             "no node reads it; list it in \"unused\" if that is meant");
    }
    if (graph.initializers.contains(name))
      all.complain(name, "the graph's text defines an initializer of this name too");
    graph.initializers[name] = std::make_shared<const core::Tensor>(generate(spec, seed, name));
  }
}

std::string graph_text(const Fields& fields) {
  std::string text;
  for (const std::string& line : fields.strings("graph")) text += line + "\n";
  return text;
}

}  // namespace

std::set<std::string> tensor_names(const model::Graph& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.inputs) names.insert(input.name);
  for (const auto& [name, tensor] : graph.initializers) names.insert(name);
  for (const auto& node : graph.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  return names;
}

void apply_names(const Fields& fields, model::Graph& graph) {
  const auto names = fields.string_map("names");
  std::set<std::string> known = tensor_names(graph);
  for (const auto& [from, to] : names) {
    fields.require_known("names", from, "tensor", {known.begin(), known.end()});
    if (to.empty()) fields.complain("names", "tensor \"" + from + "\" can't have an empty name");
  }
  model::rename_tensors(graph, names);
  if (tensor_names(graph).size() != known.size()) fields.complain("names", "two tensors get the same name");
  for (const auto& [output, name] : fields.string_map("node_names")) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&, &key = output](const model::Node& n) {
      return !n.outputs.empty() && n.outputs.front() == key;
    });
    if (node == graph.nodes.end()) {
      fields.complain("node_names", "no node's first output is \"" + output + "\"");
    } else {
      node->unnamed = name.empty();
      node->name = node->unnamed ? output : name;
    }
  }
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

}  // namespace assay::corpus
