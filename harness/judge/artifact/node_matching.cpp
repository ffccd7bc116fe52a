#include "harness/judge/artifact/node_matching.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Graph;
using model::Node;

/// A MatMul with its bias may become a Gemm; every other operator stays what it is.
bool same_operator(std::string_view artifact, std::string_view original) {
  return artifact == original ||
         (is_matrix_product(traits_of(artifact).product) && is_matrix_product(traits_of(original).product));
}

class Matcher {
 public:
  Matcher(std::span<const NodeToMatch> nodes, const Graph& original)
      : nodes_(nodes),
        original_(original),
        constants_(constants_of(original)),
        wiring_(original),
        matches_(nodes.size()),
        taken_(original.nodes.size()) {}

  std::vector<std::optional<std::size_t>> match() {
    by_name();
    for (std::size_t i = 0; i < nodes_.size(); ++i) by_output(i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) by_fused_output(i);
    by_reader();
    by_position();
    return matches_;
  }

 private:
  bool free(std::size_t ours, std::size_t theirs) const {
    return !matches_[ours] && !taken_[theirs] &&
           same_operator(nodes_[ours].op, model::operator_name(original_.nodes[theirs]));
  }
  void take(std::size_t ours, std::size_t theirs) {
    if (!free(ours, theirs)) return;
    matches_[ours] = theirs;
    taken_[theirs] = true;
  }

  void by_name() {
    std::unordered_map<std::string_view, std::vector<std::size_t>> named;
    for (std::size_t j = 0; j < original_.nodes.size(); ++j) named[original_.nodes[j].name].push_back(j);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto found = named.find(nodes_[i].name);
      if (found == named.end()) continue;
      const auto theirs = std::ranges::find_if(found->second, [&](std::size_t j) { return free(i, j); });
      if (theirs == found->second.end() || (!fits(i, *theirs) && fits_another(i))) continue;
      take(i, *theirs);
      found->second.erase(theirs);
    }
  }

  /// Its constants have as many elements as those of the original's node.
  bool fits(std::size_t ours, std::size_t theirs) const {
    const Node& node = original_.nodes[theirs];
    const std::vector<std::int64_t>& sizes = nodes_[ours].sizes;
    for (std::size_t i = 0; i < std::min(sizes.size(), node.inputs.size()); ++i) {
      const core::TensorPtr constant = sizes[i] == 0 ? nullptr : find_constant(constants_, node.inputs[i]);
      if (constant != nullptr && constant->size() != sizes[i]) return false;
    }
    return true;
  }
  bool fits_another(std::size_t ours) const {
    for (std::size_t j = 0; j < original_.nodes.size(); ++j) {
      if (free(ours, j) && fits(ours, j)) return true;
    }
    return false;
  }

  void by_output(std::size_t i) {
    for (const std::string& output : nodes_[i].outputs) {
      if (const auto j = wiring_.producer(output)) take(i, *j);
    }
  }

  void by_fused_output(std::size_t i) {
    if (matches_[i]) return;
    for (const std::string& output : nodes_[i].outputs) {
      auto j = wiring_.producer(output);
      while (j && !free(i, *j) && passes(original_.nodes[*j])) {
        j = first_producer(original_.nodes[*j]);
      }
      if (j) take(i, *j);
    }
  }

  /// From the end, so that what is found goes on to what it reads.
  void by_reader() {
    std::unordered_map<std::string_view, std::size_t> makers;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& output : nodes_[i].outputs) makers.emplace(output, i);
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (!matches_[i]) continue;
      const Node& theirs = original_.nodes[*matches_[i]];
      for (std::size_t k = 0; k < std::min(nodes_[i].inputs.size(), theirs.inputs.size()); ++k) {
        const auto ours = makers.find(nodes_[i].inputs[k]);
        if (ours == makers.end() || matches_[ours->second]) continue;
        auto j = wiring_.producer(theirs.inputs[k]);
        while (j && !free(ours->second, *j) && passes(original_.nodes[*j])) j = first_producer(original_.nodes[*j]);
        if (j) take(ours->second, *j);
      }
    }
  }

  /// What may be gone from the artifact, or stand in another place behind the node that makes its values.
  static bool passes(const Node& node) {
    const OperatorTraits& traits = traits_of(node);
    return traits.vanishes || traits.movement == Movement::reshapes;
  }

  /// Who makes the first input that anybody makes: constants may stand in front.
  std::optional<std::size_t> first_producer(const Node& node) const {
    for (const std::string& input : node.inputs) {
      if (const auto producer = wiring_.producer(input)) return producer;
    }
    return std::nullopt;
  }

  void by_position() {
    struct Unmatched {
      std::vector<std::size_t> ours, theirs;
    };
    std::map<std::string, Unmatched, std::less<>> by_op;
    // What is made of constants alone may stand anywhere, or have been made before.
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!matches_[i] && !nodes_[i].is_constant) by_op[std::string(nodes_[i].op)].ours.push_back(i);
    }
    std::unordered_set<std::string_view> made_of_constants;
    for (std::size_t j = 0; j < original_.nodes.size(); ++j) {
      const Node& node = original_.nodes[j];
      const bool constant = !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](const std::string& input) {
        return input.empty() || made_of_constants.contains(input) || find_constant(constants_, input) != nullptr;
      });
      if (constant) {
        made_of_constants.insert(node.outputs.begin(), node.outputs.end());
        continue;
      }
      if (!taken_[j]) by_op[model::operator_name(original_.nodes[j])].theirs.push_back(j);
    }
    for (const auto& [op, both] : by_op) {
      if (both.ours.size() != both.theirs.size()) continue;
      for (std::size_t k = 0; k < both.ours.size(); ++k) take(both.ours[k], both.theirs[k]);
    }
  }

  std::span<const NodeToMatch> nodes_;
  const Graph& original_;
  Constants constants_;
  model::Wiring wiring_;
  std::vector<std::optional<std::size_t>> matches_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<std::optional<std::size_t>> match_nodes(std::span<const NodeToMatch> nodes, const Graph& original) {
  return Matcher(nodes, original).match();
}

OriginalNames::OriginalNames(const Graph& original) : original_(original) {
  for (const auto& input : original.inputs) known_[input.name] = true;
  for (const auto& [name, tensor] : original.initializers) known_[name] = true;
  for (const Node& node : original.nodes) {
    for (const std::string& output : node.outputs) known_[output] = true;
    const bool copies = node.op_type == "Identity";
    if (copies) copied_[node.outputs.front()] = behind_copies(std::string(node.input(0)));
    if (copies || model::is_quantizer(node)) value_[node.outputs.front()] = value_of(std::string(node.input(0)));
  }
}

std::string OriginalNames::behind_copies(const std::string& tensor) const {
  const auto found = copied_.find(tensor);
  return found == copied_.end() ? tensor : found->second;
}

const std::string& OriginalNames::value_of(const std::string& tensor) const {
  const auto found = value_.find(tensor);
  return found == value_.end() ? tensor : found->second;
}

bool OriginalNames::same_value(const std::string& a, const std::string& b) const { return value_of(a) == value_of(b); }

bool OriginalNames::known(std::string_view tensor) const { return known_.contains(tensor); }

void OriginalNames::vote(const std::string& tensor, Strength strength, const std::string& original) {
  if (!tensor.empty() && !original.empty() && known(original)) votes_[tensor][strength].push_back(original);
}

void OriginalNames::vote_input(const std::string& tensor) {
  if (original_.find_input(tensor) != nullptr) vote(tensor, kInput, tensor);
}

void OriginalNames::vote_output(const std::string& tensor, const std::string& output_name) {
  vote(tensor, kOutput, output_name);
}

void OriginalNames::vote_consumer(std::string_view op, std::span<const std::string> tensors, const Node& node) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // The operands of a commutative operator may have changed places; a name that fits any of them is believed.
    const bool named = commutes(op) && std::ranges::find(node.inputs, tensors[i]) != node.inputs.end();
    vote(tensors[i], kConsumer, named ? tensors[i] : behind_copies(std::string(node.input(i))));
  }
}

void OriginalNames::vote_requantized(const std::string& tensor, const std::string& original) {
  vote(tensor, kRequantized, behind_copies(original));
}

void OriginalNames::vote_producer(const std::string& tensor, const std::string& original) {
  vote(tensor, kProducer, original);
}

std::string OriginalNames::original(const std::string& tensor) const {
  const auto found = votes_.find(tensor);
  if (found != votes_.end() && found->second.contains(kInput)) return tensor;
  if (found != votes_.end() && !found->second.empty()) {
    const auto& [strength, names] = *found->second.begin();
    if (strength < kName) {
      // Several readers may stand for different tensors of the original (before and after a fused activation).
      return std::ranges::find(names, tensor) != names.end() ? tensor : names.front();
    }
  }
  if (known(tensor)) return tensor;
  return found == votes_.end() || found->second.empty() ? std::string() : found->second.begin()->second.front();
}

}  // namespace assay::judge
