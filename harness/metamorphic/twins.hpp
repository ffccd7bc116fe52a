#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::metamorphic {

/// A model that a correct converter must treat exactly like another one, and how their data correspond.
struct Twin {
  using Mapping = std::function<std::vector<core::TensorMap>(const core::TensorMap&)>;

  model::Model model;
  /// One data set of the original → what the twin is fed instead: one map per execution.
  Mapping inputs;
  /// The original's outputs on that data set → what the twin must give, bit for bit: one map per execution.
  Mapping outputs;
  std::map<std::string, std::string> renamed_nodes;  ///< of the original → of the twin, where they differ
};

/// A metamorphic relation (L3): a change of the model that must not change what comes out, but for
/// what the twin's mapping says.
struct Relation {
  std::string_view name;
  std::string_view broken;  ///< what a converter got wrong where the relation does not hold
  /// Elements are met in another order or in other batches: holds exactly only for ranges that are extremes, and for
  /// sums that are integers.
  bool reorders = false;
  /// Holds only for functions of a kind (homogeneous, one row of the batch at a time): the float reference decides.
  bool conditional = false;
  /// Errors   unsupported, with the reason why the relation says nothing about this model.
  core::Result<Twin> (*make)(const model::Model& model, const std::vector<core::TensorMap>& calibration);
};

/// All relations in a stable order: twice, inputs, nodes, names, identity, batch, scale, channels, gemm.
[[nodiscard]] const std::vector<Relation>& relations();
[[nodiscard]] const Relation* find_relation(std::string_view name);

}  // namespace assay::metamorphic
