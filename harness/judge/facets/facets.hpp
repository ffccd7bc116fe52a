#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/grounds.hpp"

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

/// Why the case's data sets prove nothing, or nothing (trust check).
[[nodiscard]] std::optional<std::string> distrust(const LayerContext& context);

/// Whether a finding says that an activation's range differs from that of the calibration data.
[[nodiscard]] bool is_about_range(const LayerContext& context, const Finding& finding);
/// Of a ready artifact: how many ranges differ from those of the calibration data, where nearly every one does, so that
/// it may have been calibrated on others; else 0.
[[nodiscard]] std::size_t doubted_ranges(const LayerContext& context, const std::vector<Finding>& findings);

/// True where `pattern` (ECMAScript, ignoring case) is found in `text`; nothing for a malformed pattern.
[[nodiscard]] std::optional<bool> matches(const std::string& pattern, const std::string& text);

}  // namespace assay::judge
