#include "harness/judge/facets/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "harness/judge/evidence/supports.hpp"

namespace assay::judge {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
/// Joins words to one name where a word goes on behind it: "a/b:0", "model.conv".
bool is_joint(char c) { return c == '/' || c == ':' || c == '.' || c == '-'; }

bool ends_before(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  if (is_word(before)) return false;
  return !is_joint(before) || at < 2 || !is_word(text[at - 2]);
}

bool begins_after(std::string_view text, std::size_t at) {
  if (at >= text.size()) return true;
  if (is_word(text[at])) return false;
  return !is_joint(text[at]) || at + 1 >= text.size() || !is_word(text[at + 1]);
}

/// The last word before `at`, in lower case.
std::string word_before(std::string_view text, std::size_t at) {
  while (at > 0 && !is_word(text[at - 1])) --at;
  std::string word;
  for (; at > 0 && is_word(text[at - 1]); --at) {
    word.insert(word.begin(), static_cast<char>(std::tolower(static_cast<unsigned char>(text[at - 1]))));
  }
  return word;
}

bool stands_as_name(std::string_view text, std::size_t at, std::string_view name) {
  if (!std::ranges::all_of(name, is_letter)) return true;
  constexpr std::string_view kOpening = "\"'`[({<";
  if (at > 0 && kOpening.find(text[at - 1]) != std::string_view::npos) return true;
  static constexpr std::array<std::string_view, 13> kNouns{"tensor",      "tensors", "node",    "layer",  "input",
                                                           "inputs",      "output",  "outputs", "weight", "bias",
                                                           "initializer", "named",   "name"};
  return std::ranges::find(kNouns, word_before(text, at)) != kNouns.end();
}

template <typename Accepted>
bool stands_somewhere(std::string_view text, std::string_view word, const Accepted& accepted) {
  if (word.empty()) return false;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (ends_before(text, at) && begins_after(text, at + word.size()) && accepted(at)) return true;
  }
  return false;
}

const model::Node* find_node(const model::Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &model::Node::name);
  return found == graph.nodes.end() ? nullptr : &*found;
}

/// Every name of the graph: inputs, outputs, nodes and what they make, constants.
std::vector<std::string> all_names(const model::Graph& graph) {
  std::vector<std::string> names;
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (const model::ValueInfo& value : *list) names.push_back(value.name);
  }
  for (const model::Node& node : graph.nodes) {
    names.push_back(node.name);
    names.insert(names.end(), node.inputs.begin(), node.inputs.end());
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  }
  std::erase(names, "");
  return names;
}

/// "input_0.pb": a file of the feed that can't be read has no tensor's name yet.
bool names_fed_file(const std::string& reason) {
  constexpr std::string_view kStem = "input_";
  for (auto at = reason.find(kStem); at != std::string::npos; at = reason.find(kStem, at + 1)) {
    auto end = at + kStem.size();
    while (end < reason.size() && std::isdigit(static_cast<unsigned char>(reason[end])) != 0) ++end;
    if (end > at + kStem.size() && reason.compare(end, 3, ".pb") == 0) return true;
  }
  return false;
}

}  // namespace

bool mentions(std::string_view text, std::string_view name) {
  return stands_somewhere(text, name, [&](std::size_t at) { return stands_as_name(text, at, name); });
}

bool has_word(std::string_view text, std::string_view word) {
  return stands_somewhere(text, word, [](std::size_t) { return true; });
}

namespace {

bool names_given(const std::string& reason, const GivenBeside& given) {
  if (std::ranges::any_of(given.extra, [&](const std::string& name) { return mentions(reason, name); })) return true;
  if (given.cache.empty()) return false;
  const std::string file = std::filesystem::path(given.cache).filename().string();
  return reason.find(file) != std::string::npos || has_word(reason, "cache") || has_word(reason, "Cache");
}

}  // namespace

std::vector<std::string> diagnosis_faults(const model::Graph& graph, const std::string& node, const std::string& op,
                                          const std::string& reason, const GivenBeside& given) {
  std::vector<std::string> faults;
  if (reason.empty()) faults.emplace_back("no reason given");
  const std::vector<std::string> names = all_names(graph);
  const model::Node* named = find_node(graph, node);
  const bool known = std::ranges::find(names, node) != names.end();
  if (!node.empty() && !known)
    faults.push_back(fmt::format("\"{}\" is neither a node nor a tensor of the model", node));
  const bool spoken_of = std::ranges::any_of(names, [&](const std::string& name) { return mentions(reason, name); });
  if (node.empty() && !spoken_of && !names_fed_file(reason) && !names_given(reason, given))
    faults.emplace_back("neither a node nor a tensor of the model is named");
  if (named == nullptr) return faults;
  const std::string full = model::operator_name(*named);
  if (op.empty() && reason.find(named->op_type) == std::string::npos) {
    faults.push_back(fmt::format("the operator of node \"{}\" isn't named", node));
  } else if (!op.empty() && op != named->op_type && op != full) {
    faults.push_back(fmt::format("node \"{}\" is a {}, not a {}", node, full, op));
  }
  return faults;
}

}  // namespace assay::judge
