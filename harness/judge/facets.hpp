#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/layers.hpp"
#include "harness/judge/precision.hpp"

namespace assay::judge {

/// The verdict where the way requests ended settles it: everything but a conversion that succeeded as expected.
[[nodiscard]] std::optional<Judgement> settle_status(const Evidence& evidence);

/// One `diagnostics` finding for each pattern of the case that no line of the converter's matches, and for what the
/// converter's `reports` promises and its reply lacks.
[[nodiscard]] std::vector<Finding> check_diagnostics(const Evidence& evidence);

/// Names, count, shape, type and finiteness of the outputs against the reference and the case's expectation.
[[nodiscard]] std::vector<Finding> check_outputs(const LayerContext& context);

struct PrecisionFindings {
  std::vector<Finding> findings;
  /// R of the outputs, where no artifact shows who ran in INT8 and every demand is for it.
  std::optional<double> noise_ratio;
  bool ran_in_float = false;   ///< the first finding is a float operator where INT8 was asked: `not-quantized`
  bool noise_decides = false;  ///< INT8 is asked for, and neither map nor artifact speaks against it
  bool required = false;       ///< by somebody who doesn't merely allow it
};
/// Who ran in INT8, by the converter's precision map and the artifact's structure.
[[nodiscard]] PrecisionFindings check_precision(const LayerContext& context);
/// The same by the evidence of the outputs' noise, where that decides.
void check_noise(const LayerContext& context, Grounds& grounds, PrecisionFindings& precision);

/// SQNR, cosine and largest error of every output and every traced tensor.
[[nodiscard]] std::vector<Metric> measure(const LayerContext& context);

/// Why the case's data sets prove nothing, or nothing (DESIGN section 5, trust check).
[[nodiscard]] std::optional<std::string> distrust(const LayerContext& context);

/// What is asked of one node of the original, and who asks.
struct Demand {
  Precision precision = Precision::int8;
  bool stated = false;  ///< by the case or the options; otherwise the default for weighted operators
};
[[nodiscard]] std::optional<Demand> demanded_precision(const Evidence& evidence, const model::Node& node);
/// It is asked for in a float type.
[[nodiscard]] bool asked_in_float(const Evidence& evidence, const model::Node& node);

/// What the converter's precision map says of the node of this name; null where it says nothing.
[[nodiscard]] const converters::NodePrecision* reported_precision(const Evidence& evidence, std::string_view node);
/// The converter says itself that the node runs in a float type.
[[nodiscard]] bool reported_in_float(const Evidence& evidence, std::string_view node);
/// By the converter's precision map; where that says nothing of the node, by what is asked.
[[nodiscard]] bool runs_in_float(const Evidence& evidence, const model::Node& node);

/// The converter told its scales, and not those of graph inputs alone: a tensor that isn't listed has none.
[[nodiscard]] bool lists_scales(const Evidence& evidence);

/// True where `pattern` (ECMAScript, ignoring case) is found in `text`; nothing for a malformed pattern.
[[nodiscard]] std::optional<bool> matches(const std::string& pattern, const std::string& text);

}  // namespace assay::judge
