#include "harness/new_cases/describe_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/corpus/case_model.hpp"
#include "harness/corpus/write_case.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::new_cases {
namespace {

using nlohmann::ordered_json;

// What a reader still takes in: more than these, and the weights are better kept as a file.
constexpr std::int64_t kValuesOfATensor = 64;
constexpr std::int64_t kValuesOfAModel = 512;

bool plain(const std::string& name) {
  const auto word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, word);
}

/// Names that the text can hold, and the real ones beside them.
class Names {
 public:
  explicit Names(const std::set<std::string>& tensors) {
    for (const std::string& name : tensors) {
      if (plain(name)) texts_.emplace(name, name);
    }
    for (const std::string& name : tensors) {
      if (plain(name) || name.empty()) continue;
      std::string text = fmt::format("t{}", renamed_.size());
      while (tensors.contains(text)) text += "_";
      texts_.emplace(name, text);
      renamed_[text] = corpus::escaped(name);
    }
  }
  [[nodiscard]] std::string of(const std::string& name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? name : found->second;
  }
  [[nodiscard]] const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  std::map<std::string, std::string> texts_, renamed_;
};

std::string real_text(double value) {
  std::string text = core::exact_text(static_cast<float>(value));
  if (text.find_first_of(".eE") == std::string::npos) text += ".0";  // "1" would become an integer attribute
  return text;
}

std::string quoted(const std::string& text) { return "\"" + corpus::escaped(text) + "\""; }

template <typename List, typename Text>
std::string list_text(const List& list, Text text) {
  std::vector<std::string> parts;
  parts.reserve(std::size(list));
  for (const auto& each : list) parts.push_back(text(each));
  return "[" + core::join(parts, ", ") + "]";
}

/// Nothing for tensors, subgraphs and empty lists.
std::optional<std::string> attribute_text(const model::Attribute& value) {
  const auto integer = [](std::int64_t each) { return std::to_string(each); };
  if (const auto* one = std::get_if<std::int64_t>(&value)) return integer(*one);
  if (const auto* one = std::get_if<double>(&value)) return real_text(*one);
  if (const auto* one = std::get_if<std::string>(&value)) return quoted(*one);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list != nullptr && !list->empty()) {
    return list_text(*list, integer);
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value); list != nullptr && !list->empty()) {
    return list_text(*list, real_text);
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value); list != nullptr && !list->empty()) {
    return list_text(*list, quoted);
  }
  return std::nullopt;
}

std::optional<std::string> node_text(const model::Node& node, const Names& names) {
  std::vector<std::string> outputs, attributes, inputs;
  for (const std::string& name : node.outputs) outputs.push_back(names.of(name));
  for (const std::string& name : node.inputs) inputs.push_back(names.of(name));
  for (const auto& [name, value] : node.attributes) {
    const auto text = attribute_text(value);
    if (!text) return std::nullopt;
    attributes.push_back(name + "=" + *text);
  }
  return fmt::format("  {} = {}{}{} ({})", core::join(outputs, ", "), node.domain.empty() ? "" : node.domain + ".",
                     node.op_type, attributes.empty() ? "" : " <" + core::join(attributes, ", ") + ">",
                     core::join(inputs, ", "));
}

std::string values_text(const std::vector<model::ValueInfo>& values, const Names& names) {
  std::vector<std::string> parts;
  for (const model::ValueInfo& value : values) {
    std::vector<std::string> extents;
    for (const model::Dimension& each : value.shape.value_or(std::vector<model::Dimension>())) {
      extents.push_back(each.value ? std::to_string(*each.value) : each.symbol.empty() ? "?" : each.symbol);
    }
    const std::string shape = value.shape && value.shape->empty() ? "" : "[" + core::join(extents, ",") + "]";
    parts.push_back(fmt::format("{}{} {}", core::dtype_name(value.type), shape, names.of(value.name)));
  }
  return "(" + core::join(parts, ", ") + ")";
}

ordered_json element_json(const core::Tensor& tensor, std::int64_t index) {
  if (!tensor.is_real()) return tensor.integers()[static_cast<std::size_t>(index)];
  return ordered_json::parse(core::exact_text(static_cast<float>(tensor.as_real(index))), nullptr, false);
}

/// As `zeros`, `constant` or `values`, whichever is shortest; nothing where it has too many values for any.
std::optional<ordered_json> described(const core::Tensor& tensor, std::int64_t& values_left) {
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    if (!std::isfinite(tensor.as_real(index))) return std::nullopt;
  }
  ordered_json json = ordered_json::object();
  if (tensor.type() != core::DType::float32) json["type"] = core::dtype_name(tensor.type());
  json["shape"] = tensor.shape();
  bool constant = tensor.size() > 1;
  for (std::int64_t index = 1; index < tensor.size(); ++index) {
    constant = constant && tensor.as_real(index) == tensor.as_real(0);
  }
  if (constant) {
    json["data"] = "constant";
    json["value"] = element_json(tensor, 0);
    return json;
  }
  values_left -= tensor.size();
  if (tensor.size() > kValuesOfATensor || values_left < 0) return std::nullopt;
  json["data"] = "values";
  json["values"] = ordered_json::array();
  for (std::int64_t index = 0; index < tensor.size(); ++index) json["values"].push_back(element_json(tensor, index));
  return json;
}

/// What has to be the same: not who made the file, nor what it says of intermediate tensors.
std::string essence(model::Model model) {
  model.graph.name.clear();
  model.graph.value_info.clear();
  model.producer.clear();
  model.metadata.clear();
  model.ir_version = 8;
  return model::serialize_model(model);
}

bool reads_back(const ordered_json& json, const model::Model& model) {
  ordered_json inputs = ordered_json::object();
  ordered_json file{{"family", "f"}, {"title", "t"}};
  file.update(json);
  for (const model::ValueInfo& input : model.graph.inputs) {
    std::vector<std::int64_t> shape;
    for (const auto& each : input.shape.value_or(std::vector<model::Dimension>()))
      shape.push_back(each.value.value_or(1));
    inputs[corpus::escaped(input.name)] = {{"shape", std::move(shape)}};
  }
  file["inputs"] = std::move(inputs);
  const auto cases = corpus::parse_family(file.dump(), "described");
  return cases && cases->size() == 1 && essence(*cases->front().model) == essence(model);
}

}  // namespace

std::optional<ordered_json> described_model(const model::Model& model) {
  const model::Graph& graph = model.graph;
  const Names names(corpus::tensor_names(graph));
  ordered_json lines = ordered_json::array();
  lines.push_back("agraph " + values_text(graph.inputs, names) + " => " + values_text(graph.outputs, names) + " {");
  ordered_json node_names = ordered_json::object();
  for (const model::Node& node : graph.nodes) {
    const auto text = node_text(node, names);
    if (!text || node.outputs.empty()) return std::nullopt;
    lines.push_back(*text);
    const bool named_otherwise = node.name != node.outputs.front();
    if (node.unnamed || named_otherwise)
      node_names[corpus::escaped(node.outputs.front())] = named_otherwise ? corpus::escaped(node.name) : "";
  }
  lines.push_back("}");
  ordered_json json{{"graph", std::move(lines)}};
  json["opset"] = model.opset();
  if (model.opsets.size() > 1) json["opset"] = model.opsets;
  std::int64_t values_left = kValuesOfAModel;
  for (const auto& [name, tensor] : graph.initializers) {
    const auto text = described(*tensor, values_left);
    if (!text) return std::nullopt;
    json["initializers"][names.of(name)] = *text;
  }
  if (!names.renamed().empty()) json["names"] = names.renamed();
  if (!node_names.empty()) json["node_names"] = std::move(node_names);
  return reads_back(json, model) ? std::optional(std::move(json)) : std::nullopt;
}

}  // namespace assay::new_cases
