#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/localize/artifact_slice.hpp"
#include "harness/localize/candidate.hpp"
#include "harness/localize/ddmin.hpp"

namespace assay::localize {

/// Some of a graph's nodes, by index.
using Nodes = Items;

/// Cuts submodels out of a model, with the data that the float64 reference gives where they are cut.
class Cutter {
 public:
  /// Runs the reference on all data of `whole`, which must outlive this, and keeps every tensor that a node makes.
  /// Errors   what the reference says.
  [[nodiscard]] static core::Result<Cutter> make(const Candidate& whole);

  [[nodiscard]] const model::Graph& graph() const { return whole_->model.graph; }
  [[nodiscard]] const model::Wiring& wiring() const { return wiring_; }

  /// `nodes` alone. What they read from outside becomes a graph input with its data; or an initializer where nothing
  /// of the model's inputs goes into it, or where it is of integers and the same for all data (a shape). What the rest
  /// of the model reads of them, or its outputs are, and they themselves don't read, are the outputs.
  /// Errors   invalid_model, where no node is left.
  [[nodiscard]] core::Result<Candidate> cut(const Nodes& nodes) const;

  /// `part`, that was cut out of the whole model, with the part of the whole's artifact that belongs to it: as it is
  /// where the whole has no artifact, nothing where that has no such part.
  [[nodiscard]] std::optional<Candidate> with_slice(Candidate part) const;

 private:
  explicit Cutter(const Candidate& whole) : whole_(&whole), wiring_(whole.model.graph) {}
  core::Status trace(const std::vector<core::TensorMap>& batches, std::vector<core::TensorMap>& traces);
  void find_constants();
  /// The tensor's value for each batch and data set, calibration first; empty where the reference made none.
  [[nodiscard]] std::vector<const core::Tensor*> values(const std::string& tensor) const;
  [[nodiscard]] bool is_constant(const std::string& tensor, const std::vector<const core::Tensor*>& values) const;
  void add_input(Candidate& part, const std::string& tensor) const;
  void add_output(Candidate& part, const std::string& tensor) const;

  const Candidate* whole_;
  model::Wiring wiring_;
  std::vector<core::TensorMap> calibration_, inputs_;  ///< what nodes and graph inputs gave
  std::optional<ArtifactSlicer> slicer_;
  std::set<std::string> constants_;  ///< tensors that hang on no graph input
};

/// Tensors that `node` reads, of its subgraphs too, without those left out.
[[nodiscard]] std::vector<std::string> reads(const model::Node& node);

}  // namespace assay::localize
