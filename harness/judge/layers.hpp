#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/alignment.hpp"
#include "harness/judge/artifact_view.hpp"
#include "harness/judge/explanation.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/verdict.hpp"

namespace assay::judge {

/// Share of false alarms a whole run may have (DESIGN section 5, L2): α.
inline constexpr double kFalseAlarmRate = 1e-6;

/// Smallest and largest value of one tensor over the calibration batches, and what a float32 execution may add.
struct TensorRange {
  double low = 0, high = 0;  ///< over all batches (float64 reference)
  double inner_low = 0;      ///< largest of the per-sample minima: averaging can't go nearer to zero
  double inner_high = 0;     ///< smallest of the per-sample maxima
  double first = 0;          ///< largest magnitude in the first batch
  double batch_low = 0;      ///< sum over the batches of their minima
  double batch_high = 0;     ///< and of their maxima
  double batch_extent = 0;   ///< and of their largest magnitudes
  std::size_t batches = 0;   ///< that had values
  double slack = 0;          ///< bound on the float32 forward error of an extreme (docs/oracle.md, L0)
  bool finite = true;        ///< no NaN or infinity among the values
  bool is_input = false;     ///< a graph input: exact but for rounding, slack 0
  std::int64_t samples = 0;  ///< number of values seen
  core::Shape shape;         ///< of the last batch
};
using RangeTable = std::map<std::string, TensorRange>;
struct CalibrationRanges;  // reference_cache.hpp
class PreparedArtifact;    // artifact_walk.hpp
class Grounds;             // grounds.hpp
class GroundsCache;
class QuantizationPlan;    // quantization_plan.hpp
class IntegerMemo;         // integer_memo.hpp

/// Codes by the name of the tensor that holds them.
using CodeTensors = std::map<std::string, core::TensorPtr, std::less<>>;

/// What the numeric layers read. References to results that several option sets share; nothing is owned or written.
struct LayerContext {
  const Evidence& evidence;
  /// Parsed Q/DQ artifact; null unless the artifact's kind is "qdq" and it could be read.
  const ArtifactView* artifact = nullptr;
  /// What the converter did with each node (align()); never null.
  std::shared_ptr<const Alignment> alignment;
  /// For each of evidence.executions, in order: every tensor of the original graph from the float64 reference by name
  /// (graph inputs and initializers included). Null where the execution failed. Of a large graph only the first has all
  /// tensors, the others have the graph's outputs.
  std::vector<std::shared_ptr<const core::TensorMap>> reference;
  /// Ranges over the calibration batches of every real tensor of the original graph.
  const RangeTable* ranges = nullptr;
  /// The harness's own per-tensor parameters of every real activation under the options and the stated policy
  /// (min-max; fixed ranges and divisor applied, no floor): "the audited scale" of DESIGN's L2.
  std::map<std::string, core::QuantParams> audited;
  /// N: elements that this verdict judges, times the verdicts planned in the run.
  double judged_elements = 1;
  /// The same ranges with the values behind them where the method needs those; null where nobody has them.
  std::shared_ptr<const CalibrationRanges> calibration = nullptr;
  /// Millions of elements in one run: deep networks.
  bool large = false;
  /// Where each layer writes what its verdict comes from; null where nobody asks.
  Explanation* explanation = nullptr;
  /// At `gate` a layer may end at its first red finding and leave metrics out.
  Depth depth = Depth::full;

  /// t = √(2 ln(2N/α)).
  [[nodiscard]] double threshold() const;

  IntegerMemo* integers = nullptr;  ///< null where nothing is shared
};

/// What the converter did with the original of `evidence`, by its artifact (which may be null), what it states and what
/// is asked for.
[[nodiscard]] std::shared_ptr<const Alignment> align(const Evidence& evidence, const ArtifactView* artifact);

/// For each of evidence.executions: what the artifact's quantizers gave, where L1 knows it for certain; else empty.
using CertainCodes = std::vector<CodeTensors>;

/// "[1,0,3]": the indices of element `flat` of a row-major tensor, as messages show them.
[[nodiscard]] std::string index_text(std::int64_t flat, const core::Shape& shape);

struct IntegerFindings {
  std::vector<Finding> findings;
  CertainCodes certain_codes;
};
/// L1: the artifact's own graph in exact arithmetic; `prepared` is null where there is none, or it can't be walked.
/// Findings carry layer "L1"; sets `out.style`, adds metrics and "L1" to `out.layers` where it applied. `executions`
/// are those of `context.evidence`: where their outputs alone don't settle every node, the converter is asked for
/// traces, which stay there.
[[nodiscard]] IntegerFindings check_integers(const LayerContext& context, const PreparedArtifact* prepared,
                                             std::vector<Execution>& executions, Judgement& out);

/// Sums of products that leave 32 bits. A node whose worst case over all codes does is recorded (metric
/// "accumulator_worst", in units of 2³¹); an overflow with the case's own data is a finding of layer "L0". Only nodes
/// that the converter doesn't report in float, and not under the policy `arithmetic: float`.
[[nodiscard]] std::vector<Finding> check_overflow(const LayerContext& context, const PreparedArtifact* prepared,
                                                  Judgement& out);

/// L2: bounds against the float64 reference, end to end on the outputs, and per node where traces exist. Findings
/// carry layer "L2"; sets `out.margin`, adds metrics and "L2" to `out.layers` where it applied.
[[nodiscard]] std::vector<Finding> check_bounds(const LayerContext& context, Grounds& grounds,
                                                const PreparedArtifact* prepared, const CertainCodes& certain_codes,
                                                Judgement& out);

/// R = mean(e²) ÷ mean(σ²_predicted, output rounding left out) on `typical` data: far below 1 means that the outputs
/// carry no quantization noise, so ran in float. Nothing where it can't be computed or the data don't suffice.
[[nodiscard]] std::optional<double> noise_ratio(const LayerContext& context, Grounds& grounds);

}  // namespace assay::judge
