#pragma once

#include <filesystem>
#include <memory>
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
  std::shared_ptr<const model::Model> artifact = nullptr;  ///< what a converter made of the model; null: convert it
  bool calibrated = true;  ///< `calibration` is what the artifact was calibrated on; else there is none

  [[nodiscard]] std::size_t nodes() const { return model.graph.nodes.size(); }
  /// Size of the model's file.
  [[nodiscard]] std::size_t bytes() const;
  /// SHA-256 over model and data.
  [[nodiscard]] std::string hash() const;
};

/// The user's model and data; data that nobody gave are generated as `assay check` generates them.
[[nodiscard]] core::Result<Candidate> make_candidate(const data::UserCase& user);

/// The same with a ready artifact. Without given calibration data there are none: nobody knows them.
/// Errors   what model::load_model says of the artifact.
[[nodiscard]] core::Result<Candidate> make_candidate(const data::UserCase& user, const std::filesystem::path& artifact);

/// Whether the float64 reference's real outputs hold something: no NaN and no infinity in any data set, and none that
/// is zero throughout all of them. What the reference can't run counts as holding something.
[[nodiscard]] bool holds_values(const Candidate& candidate);

/// The case that judges a candidate under the name `name`.
[[nodiscard]] data::UserCase as_case(const Candidate& candidate, const std::string& name);

/// DIR/model.onnx, DIR/calibration/0000/input_0.pb …, DIR/inputs/0000/input_0.pb …: what `assay check` takes. An
/// artifact is DIR/artifact.onnx; without calibration data there is no such folder.
[[nodiscard]] core::Status save(const Candidate& candidate, const std::filesystem::path& folder);

}  // namespace assay::localize
