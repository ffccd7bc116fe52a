#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/bound_walk.hpp"
#include "harness/judge/quantization/correlated.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/noise.hpp"
#include "harness/judge/quantization/noise_draws.hpp"
#include "harness/judge/quantization/ways.hpp"

namespace assay::judge {

/// What of the evidence a plan and a prediction read: nothing that was executed.
[[nodiscard]] Evidence without_outputs(const Evidence& evidence);

/// What correct quantization amounts to in one conversion, as far as that follows from the model, the data and what the
/// converter tells, and not from outputs: the plan, and for each data set the bounds from end to end, the noise and the
/// prediction. Each is made at its first use. Not for use from two threads.
class Grounds {
 public:
  /// Keeps what it needs of `context`; the model, the case and an artifact must outlive it.
  explicit Grounds(const LayerContext& context);
  Grounds(const Grounds&) = delete;
  Grounds& operator=(const Grounds&) = delete;
  Grounds(Grounds&&) = delete;
  Grounds& operator=(Grounds&&) = delete;
  ~Grounds() = default;

  [[nodiscard]] const QuantizationPlan& plan() const { return plan_; }

  /// One data set from its inputs to the graph's outputs.
  struct EndToEnd {
    struct Output {
      const Alignment::Operation* entry;  ///< that makes it
      std::string tensor;
      Enclosure carried;  ///< before its own rounding
    };
    std::vector<Output> outputs;  ///< real ones, in the order that they are made in
    struct Ranking {
      const Alignment::Operation* entry;
      std::string tensor;  ///< the output with the positions
      Enclosure ranked;    ///< the operand, before and after its own rounding
    };
    std::vector<Ranking> rankings;                    ///< of operators that say where the largest or least elements lie
    std::map<std::string, Enclosure> constant_codes;  ///< outputs that the model's own quantizers make of constants
    /// Where every error is an independent draw.
    std::optional<NoisePrediction> noise;
    /// Sees every node where the signs are kept, and none otherwise.
    CorrelatedBound correlated;
  };
  [[nodiscard]] EndToEnd& end_to_end(const core::TensorMap& inputs, bool typical, EngineRoundings engine,
                                     bool keeps_signs);
  /// Nothing where an operator has no rule.
  [[nodiscard]] const std::optional<NoisePrediction>& noise(const core::TensorMap& inputs, Steps steps);
  /// What the stated policy predicts, run on `inputs`; null where the reference can't.
  [[nodiscard]] const FakeQuantization* prediction(const core::TensorMap& inputs);
  /// The same before it is run.
  [[nodiscard]] const FakeQuantization& prediction();
  /// What is predicted with the narrowest ranges where the method leaves their ends open, run on `inputs`: prediction()
  /// has the widest. Null where it leaves none open, or the reference can't.
  [[nodiscard]] bool leaves_ranges_open() const { return context_.open_ranges.has_value(); }
  [[nodiscard]] const FakeQuantization* narrowest(const core::TensorMap& inputs);
  /// The other ways in which the conversion may have been made, run on `inputs`; those that the reference can't run are
  /// left out.
  [[nodiscard]] const std::vector<const Way*>& other_ways(const core::TensorMap& inputs);

  /// What other outcomes of the roundings that the policy allows leave of the outputs (draw_from_policy()): `expected`
  /// are those of the float network on `inputs`.
  [[nodiscard]] const core::Result<NoiseByOutput>& draws(const core::TensorMap& inputs, const core::TensorMap& expected,
                                                         std::uint64_t count);

  /// Whether they are those of `context` too.
  [[nodiscard]] bool serve(const LayerContext& context) const;

 private:
  struct Walk {
    core::TensorMap inputs;
    bool typical, keeps_signs;
    EngineRoundings engine;
    EndToEnd result;
  };
  struct Noise {
    core::TensorMap inputs;
    Steps steps;
    std::optional<NoisePrediction> result;
  };
  struct Draws {
    core::TensorMap inputs;
    std::uint64_t count;
    core::Result<NoiseByOutput> result;
  };
  void run(Walk& walk);
  [[nodiscard]] bool single_operator() const;
  [[nodiscard]] bool clips(const core::TensorMap& inputs) const;

  Evidence evidence_;
  LayerContext context_;
  QuantizationPlan plan_;
  std::list<Walk> walks_;
  std::list<Noise> noises_;
  std::list<Draws> draws_;
  std::optional<FakeQuantization> prediction_;
  std::optional<core::TensorMap> predicted_on_;
  bool predicted_ = false;
  std::optional<std::vector<std::unique_ptr<Way>>> ways_;
  std::optional<core::TensorMap> ways_on_;
  std::vector<const Way*> ways_run_;
  std::unique_ptr<Way> narrowest_;
  std::optional<core::TensorMap> narrowest_on_;
  bool narrowest_runs_ = false;
};

/// The grounds of the conversions that a case saw last, for those that tell the same: with every fault that changes
/// neither scales nor precision, say.
class GroundsCache {
 public:
  /// Those that serve `context`, made where there are none. Kept only where they hang on no artifact and the graph is
  /// not large.
  [[nodiscard]] std::shared_ptr<Grounds> get(const LayerContext& context);

 private:
  static constexpr std::size_t kKept = 16;
  std::list<std::shared_ptr<Grounds>> kept_;  ///< newest use first
};

}  // namespace assay::judge
