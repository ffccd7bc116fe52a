#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/core/result.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/localize/candidate.hpp"

namespace assay::localize {

/// Cuts out of a ready artifact what belongs to a part of its float original.
class ArtifactSlicer {
 public:
  /// Both models must outlive it. Errors   as judge::ArtifactView::build().
  [[nodiscard]] static core::Result<ArtifactSlicer> make(std::shared_ptr<const model::Model> artifact,
                                                         const model::Model& original);

  /// The nodes of the artifact that make the outputs of `part` out of its inputs, as a model with the same inputs and
  /// outputs by name. It begins with the quantizers of the inputs and ends behind those of the outputs; weights, scales
  /// and zero points are the artifact's own. Where the artifact has a Relu or Clip in the clamping of a quantizer, that
  /// quantizer stands for it.
  ///
  /// Returns  nothing where the artifact has no such part: a tensor of the part's edge lies inside something fused.
  [[nodiscard]] std::optional<model::Model> slice(const model::Graph& part) const;

  /// Scales the calibration data of the inputs that `part` has and the whole model has not, by less than a hundred
  /// thousandth, so that they span the range that the artifact declares. Such a tensor was computed in float32 when the
  /// artifact was calibrated, and in float64 here; as an input of the part its scale is compared exactly.
  void align_calibration(Candidate& part) const;

 private:
  ArtifactSlicer(std::shared_ptr<const model::Model> artifact, const model::Model& original, judge::ArtifactView view);
  /// The original's tensor under whose name the artifact has what stands for `tensor`.
  [[nodiscard]] std::string stand_in(std::string tensor) const;
  /// The artifact's float tensor that its operators read for the original's `tensor`; "" where it has none.
  [[nodiscard]] std::string read_for(const std::string& tensor) const;

  std::shared_ptr<const model::Model> artifact_;
  const model::Model* original_;
  judge::ArtifactView view_;
  model::Wiring wiring_, original_wiring_;
};

}  // namespace assay::localize
