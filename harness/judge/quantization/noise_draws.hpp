#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/audit/audited_params.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"

namespace assay::judge {

/// What quantization may do to one output, as random draws show it. Real outputs: sums of squared errors. Others: how
/// many elements differ.
class NoiseDraws {
 public:
  /// The noise of one draw against what it is a draw of; both alike in type and shape.
  void add(const core::Tensor& expected, const core::Tensor& actual);
  /// The noise of another kind of draw, where several were legal: the noisiest kind counts.
  void or_else(const NoiseDraws& other);
  [[nodiscard]] bool empty() const { return powers_.empty(); }
  /// Decisions that rounding changed in some draws may, in one conversion, all have gone that way: `factor` is how many
  /// there are in all draws together for one in the mean draw.
  void widen(double factor) { factor_ = factor; }
  /// Whether rounding changed a decision in any draw.
  [[nodiscard]] bool decide() const { return factor_ > 1; }
  /// The mean noise.
  [[nodiscard]] double mean() const;
  /// What the noise of a correct result stays below but for e^-exponent: powers of sums of many roundings follow a
  /// gamma distribution with the draws' mean and variance (docs/oracle_numerics.md, "Prediction by draws").
  [[nodiscard]] double limit(double exponent) const;

 private:
  std::vector<double> powers_;
  bool counts_ = false;  ///< of elements that differ
  double factor_ = 1;
};

/// Noise of `actual` against `expected` in the units of NoiseDraws; NaN and infinity where only one side has them.
[[nodiscard]] double noise_power(const core::Tensor& expected, const core::Tensor& actual);
/// What an output of no information has for noise: that of all zeros, or of the commonest value where it isn't real.
[[nodiscard]] double signal_power(const core::Tensor& expected);

using NoiseByOutput = std::map<std::string, NoiseDraws>;

/// The least and the largest value that a tensor of the original has on a data set, by the name of the artifact's
/// quantized values that stand for it.
using OriginalValues = std::map<std::string, Interval, std::less<>>;

/// How an artifact may have been rounded, and is executed.
struct DrawnRoundings {
  bool learned = false;  ///< weights to either neighbour, not to the nearest
  bool twice = false;    ///< the engine rounds accumulators before it shifts them: up to a quarter of a step more
  std::uint64_t draws = 8;
  /// Unit roundoffs of the artifact's tensors of 16 bits; null: it has none.
  const std::map<std::string, double, std::less<>>* halves = nullptr;
};

/// The artifact, run by the reference, against itself without the roundings of its activations and with every quantized
/// constant anywhere within half a step of where it is (a whole step where rounding is learned): of the networks that
/// the artifact may have been made from, the float original is one. Needs no node of the original, and knows nothing of
/// its own defects: a changed network is changed on both sides, and differs from the original.
/// `originals`  what the original has where the artifact quantizes: an artifact that leaves its own range where the
///              original does not is wrong, and what is cut off there is no noise of quantization. Quantized values
///              that are not listed and begin or end at zero may stand for a Relu and cut like one in the draws too.
/// Errors   those of the reference, by node.
[[nodiscard]] core::Result<NoiseByOutput> draw_from_artifact(const model::Model& artifact,
                                                             const core::TensorMap& inputs,
                                                             const std::vector<model::ValueInfo>& outputs,
                                                             const OriginalValues& originals,
                                                             const DrawnRoundings& roundings);

/// The original under what is legal for the policy, every rounded value moved by up to half the coarsest legal step
/// before it is rounded, against the float network's outputs `expected`.
/// Errors   those of the reference, by node.
[[nodiscard]] core::Result<NoiseByOutput> draw_from_policy(const LayerContext& context, const QuantizationPlan& plan,
                                                           const core::TensorMap& inputs,
                                                           const core::TensorMap& expected, std::uint64_t draws);

}  // namespace assay::judge
