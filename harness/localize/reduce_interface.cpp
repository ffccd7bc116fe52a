#include <algorithm>
#include <utility>

#include "harness/localize/reduce.hpp"

namespace assay::localize {
namespace {

using model::Node;

/// `best` with one change to its graph.
template <typename Edit>
Proposal edited(const Candidate& best, Edit edit) {
  return [&best, edit]() -> std::optional<Candidate> {
    Candidate candidate = best;
    return edit(candidate.model.graph) ? tidied(std::move(candidate)) : std::nullopt;
  };
}

void propose_outputs(const Candidate& best, std::vector<Proposal>& proposals) {
  const std::size_t outputs = best.model.graph.outputs.size();
  for (std::size_t i = 0; outputs > 1 && i < outputs; ++i) {
    proposals.push_back(edited(best, [i](model::Graph& graph) {
      graph.outputs = {graph.outputs[i]};
      return true;
    }));
  }
  for (std::size_t i = 0; outputs > 2 && i < outputs; ++i) {
    proposals.push_back(edited(best, [i](model::Graph& graph) {
      graph.outputs.erase(graph.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }));
  }
}

/// Optional inputs, from the last on; that the first is needed is so of every operator.
void propose_inputs(const Candidate& best, std::size_t node, std::vector<Proposal>& proposals) {
  for (std::size_t i = best.model.graph.nodes[node].inputs.size(); i-- > 1;) {
    proposals.push_back(edited(best, [node, i](model::Graph& graph) {
      std::vector<std::string>& inputs = graph.nodes[node].inputs;
      if (inputs[i].empty()) {
        return false;
      }
      inputs[i].clear();
      while (inputs.back().empty()) {
        inputs.pop_back();
      }
      return true;
    }));
  }
}

/// The numbers of a list that say nothing: no padding, steps of one.
std::vector<std::int64_t> plain(const std::string& attribute, std::vector<std::int64_t> list) {
  std::ranges::fill(list, attribute == "pads" || attribute == "output_padding" ? 0 : 1);
  return list;
}

void propose_attributes(const Candidate& best, std::size_t node, std::vector<Proposal>& proposals) {
  for (const auto& [name, value] : best.model.graph.nodes[node].attributes) {
    proposals.push_back(edited(
        best, [node, name = name](model::Graph& graph) { return graph.nodes[node].attributes.erase(name) > 0; }));
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list != nullptr) {
      proposals.push_back(edited(best, [node, name = name, simple = plain(name, *list)](model::Graph& graph) {
        model::Attribute& now = graph.nodes[node].attributes.at(name);
        const bool other = now != model::Attribute(simple);
        now = simple;
        return other;
      }));
    }
  }
}

}  // namespace

Candidate reduce_interface(Candidate best, Trials& trials) {
  while (true) {
    std::vector<Proposal> proposals;
    propose_outputs(best, proposals);
    for (std::size_t i = 0; i < best.nodes(); ++i) {
      propose_inputs(best, i, proposals);
      propose_attributes(best, i, proposals);
    }
    std::optional<Found> simpler = trials.first(proposals);
    if (!simpler) {
      return best;
    }
    best = std::move(simpler->candidate);
  }
}

}  // namespace assay::localize
