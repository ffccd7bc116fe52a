#pragma once

#include <set>
#include <string>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// Names for tensors that are added to a graph.
class FreeNames {
 public:
  explicit FreeNames(const model::Graph& graph) {
    for (const model::Node& node : graph.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
    for (const model::ValueInfo& input : graph.inputs) taken_.insert(input.name);
    for (const auto& [name, tensor] : graph.initializers) taken_.insert(name);
  }

  /// `name`, with underscores behind it where it is taken; taken from now on.
  std::string fresh(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace assay::judge
