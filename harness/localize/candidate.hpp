#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/data/user_case.hpp"
#include "harness/model/graph.hpp"

namespace assay::localize {

/// A model with everything that is fed to it: what bisection, reduction and precision search try out.
struct Candidate {
  model::Model model;
  std::vector<core::TensorMap> calibration;  ///< batches, every graph input by name
  std::vector<core::TensorMap> inputs;       ///< data sets that are executed
  judge::DataSource inputs_source = judge::DataSource::given;

  [[nodiscard]] std::size_t nodes() const { return model.graph.nodes.size(); }
  /// Size of the model's file.
  [[nodiscard]] std::size_t bytes() const;
  /// SHA-256 over model and data.
  [[nodiscard]] std::string hash() const;
};

/// The user's model and data; data that nobody gave are generated as `assay check` generates them.
[[nodiscard]] core::Result<Candidate> make_candidate(const data::UserCase& user);

/// The case that judges a candidate under the name `name`.
[[nodiscard]] data::UserCase as_case(const Candidate& candidate, const std::string& name);

/// DIR/model.onnx, DIR/calibration/0000/input_0.pb …, DIR/inputs/0000/input_0.pb …: what `assay check` takes.
[[nodiscard]] core::Status save(const Candidate& candidate, const std::filesystem::path& folder);

}  // namespace assay::localize
