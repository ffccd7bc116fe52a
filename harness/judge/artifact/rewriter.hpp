#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/free_names.hpp"

namespace assay::judge {

/// What writes an artifact anew in a plainer form: the artifact as it is given, and what becomes of it.
class Rewriter {
 protected:
  explicit Rewriter(const model::Model& artifact)
      : result_(artifact),
        graph_(artifact.graph),
        wiring_(artifact.graph),
        constants_(constants_of(artifact.graph)),
        names_(artifact.graph) {}

  /// Adds a constant under `name`, or another like it where that is taken: the name that it has.
  std::string store(const std::string& name, core::Tensor tensor) {
    std::string target = names_.fresh(name);
    result_.graph.initializers[target] = std::make_shared<const core::Tensor>(std::move(tensor));
    return target;
  }

  /// Drops nodes of result_ that somebody read in the artifact and nobody reads any more.
  void drop_unread() {
    std::map<std::string, std::size_t, std::less<>> readers;
    const auto count = [&](const model::Node& node, std::size_t change) {
      for (const std::string& input : node.inputs) readers[input] += change;
      for (const std::string& captured : model::captured_names(node)) readers[captured] += change;
    };
    std::vector<model::Node>& nodes = result_.graph.nodes;
    for (const model::Node& node : nodes) count(node, 1);
    std::vector<model::Node> kept;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const bool unread = std::ranges::all_of(node->outputs, [&](const std::string& output) {
        return output.empty() ||
               (readers[output] == 0 && !wiring_.is_output(output) && !wiring_.consumers(output).empty());
      });
      if (unread) {
        count(*node, ~std::size_t{0});  // one less
      } else {
        kept.push_back(std::move(*node));
      }
    }
    std::ranges::reverse(kept);
    nodes = std::move(kept);
  }

  model::Model result_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  Constants constants_;
  FreeNames names_;
};

}  // namespace assay::judge
