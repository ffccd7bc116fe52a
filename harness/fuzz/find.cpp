#include "harness/fuzz/find.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "harness/core/dtype.hpp"
#include "harness/localize/criterion.hpp"
#include "reference/infer.hpp"

namespace assay::fuzz {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string attribute_text(const model::Attribute& attribute) {
  struct Text {
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return "\"" + value + "\""; }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("[{}]", fmt::join(list, ","));
    }
    std::string operator()(const std::vector<double>& list) const { return fmt::format("[{}]", fmt::join(list, ",")); }
    std::string operator()(const model::TensorPtr&) const { return "(a tensor)"; }
    std::string operator()(const model::GraphPtr&) const { return "(a graph)"; }
    std::string operator()(const std::vector<std::string>&) const { return "(words)"; }
  };
  return std::visit(Text{}, attribute);
}

std::string operand_text(const model::Model& model, const std::map<std::string, model::ValueInfo>& shapes,
                         const std::string& name) {
  constexpr std::int64_t kShown = 8;
  if (const core::Tensor* tensor = model.graph.initializer(name)) {
    std::string text = name + core::shape_text(tensor->shape());
    if (tensor->size() > kShown) return text;
    return fmt::format("{}={{{}}}", text, fmt::join(tensor->to_reals(), ","));
  }
  const auto found = shapes.find(name);
  if (found == shapes.end() || !found->second.shape) return name;
  core::Shape shape;
  for (const model::Dimension& dimension : *found->second.shape) shape.push_back(dimension.value.value_or(-1));
  return name + core::shape_text(shape);
}

}  // namespace

std::string without_names(const std::string& message, const model::Graph& graph) {
  std::set<std::string, std::greater<>> names;  // a name before those it begins with
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.insert(name);
  };
  for (const model::ValueInfo& input : graph.inputs) add(input.name);
  for (const auto& [name, tensor] : graph.initializers) add(name);
  for (const model::Node& node : graph.nodes) {
    add(node.name);
    for (const std::string& output : node.outputs) add(output);
  }
  std::string out;
  for (std::size_t i = 0; i < message.size();) {
    std::size_t length = 0;
    for (const std::string& name : names) {
      const std::size_t end = i + name.size();
      const bool begins = i == 0 || !is_word(message[i - 1]);
      if (begins && message.compare(i, name.size(), name) == 0 && (end >= message.size() || !is_word(message[end]))) {
        length = name.size();
        break;
      }
    }
    out += length > 0 ? std::string("<name>") : message.substr(i, 1);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

/// The signature of a judgement in whose message the graph's names are replaced: a name may be of letters, hold
/// numbers, or look like a path, which a signature shows differently.
std::string key_of(const Find& find) {
  judge::Judgement judgement = find.judgement;
  judgement.reason = without_names(judgement.reason, find.sample.candidate.model.graph);
  return localize::signature_of(judgement);
}

bool add(std::vector<Find>& finds, Find red) {
  const std::string key = key_of(red);
  const auto known = std::ranges::find_if(finds, [&](const Find& find) { return key_of(find) == key; });
  if (known == finds.end()) {
    finds.push_back(std::move(red));
    return true;
  }
  const std::uint64_t count = known->count + red.count;
  const std::uint64_t first = std::min(known->first_index, red.first_index);
  // The smallest is the easiest to reduce; of equals the first, whatever the order in which they were found.
  if (std::tuple(red.nodes, red.bytes, red.kept_index) < std::tuple(known->nodes, known->bytes, known->kept_index)) {
    *known = std::move(red);
  }
  known->count = count;
  known->first_index = first;
  return false;
}

std::string graph_text(const model::Model& model) {
  const auto shapes = reference::infer_shapes(model);
  const std::map<std::string, model::ValueInfo> known = shapes ? *shapes : std::map<std::string, model::ValueInfo>{};
  const auto names = [](const std::vector<model::ValueInfo>& infos) {
    std::vector<std::string> all;
    all.reserve(infos.size());
    for (const model::ValueInfo& info : infos) all.push_back(info.name);
    return fmt::format("{}", fmt::join(all, ", "));
  };
  std::string text =
      fmt::format("opset {}: {} => {}\n", model.opset(), names(model.graph.inputs), names(model.graph.outputs));
  for (const model::Node& node : model.graph.nodes) {
    std::vector<std::string> attributes, inputs;
    for (const auto& [name, value] : node.attributes) attributes.push_back(name + "=" + attribute_text(value));
    for (const std::string& input : node.inputs) inputs.push_back(operand_text(model, known, input));
    text += fmt::format("  {} = {}{} ({})\n", fmt::join(node.outputs, ", "), model::operator_name(node),
                        attributes.empty() ? "" : fmt::format(" <{}>", fmt::join(attributes, ", ")),
                        fmt::join(inputs, ", "));
  }
  return text;
}

}  // namespace assay::fuzz
