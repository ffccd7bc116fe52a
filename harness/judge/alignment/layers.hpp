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
#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/evidence.hpp"
#include "harness/judge/evidence/explanation.hpp"
#include "harness/judge/evidence/ranges.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// Share of false alarms a whole run may have (L2): α.
inline constexpr double kFalseAlarmRate = 1e-6;

class IntegerMemo;  // integer_memo.hpp

/// Where a method leaves open where ranges end and no scales are reported: the parameters of the widest and of the
/// narrowest ranges that it allows, by tensor.
struct OpenRanges {
  std::map<std::string, core::QuantParams> widest, narrowest;
};

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
  /// (min-max; fixed ranges and divisor applied, no floor): the audited scale of L2.
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
  /// Nothing where `audited` is all there is, or where the ends aren't known that far.
  std::optional<OpenRanges> open_ranges = std::nullopt;
};

/// What the converter did with the original of `evidence`, by its artifact (which may be null), what it states and what
/// is asked for.
[[nodiscard]] std::shared_ptr<const Alignment> align(const Evidence& evidence, const ArtifactView* artifact,
                                                     const SupposesFolded& supposed = nullptr);

}  // namespace assay::judge
