#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::mutants {

/// From the main graph to a body of If, Loop or Scan: node index and attribute, one pair for each level.
using BodyPath = std::vector<std::pair<std::size_t, std::string>>;

/// Type and shape that a tensor had when the reference ran the artifact on one data set.
struct TensorFacts {
  core::DType type = core::DType::undefined;
  core::Shape shape;
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

/// One graph of an artifact, the main one or a body.
struct ArtifactGraph {
  BodyPath path;                               ///< empty: the main graph
  model::GraphPtr graph;                       ///< shares what lies in the model it was made from
  std::map<std::string, TensorFacts> tensors;  ///< everything that can be read in it; empty where it did not run
};

/// The main graph, then every body in the order of its nodes. A body of a Loop or Scan is run once, on what its first
/// iteration would read; of an If both branches are.
[[nodiscard]] std::vector<ArtifactGraph> artifact_graphs(const model::Model& artifact, const core::TensorMap& inputs);

/// The model whose graph at `path` is what `edit` makes of it. Bodies that are not on the path stay the same objects.
[[nodiscard]] model::Model edited(const model::Model& artifact, const BodyPath& path,
                                  const std::function<void(model::Graph&)>& edit);

/// The value of an initializer or of a Constant node of `graph`, or null.
[[nodiscard]] core::TensorPtr constant_of(const model::Graph& graph, std::string_view tensor);

}  // namespace assay::mutants
