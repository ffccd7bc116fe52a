#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/score/score.hpp"

namespace assay::score {

/// Correct ways to convert and execute (a converter's variants, and ONNX Runtime as the executor) over the cases:
/// whatever is red then is a false alarm, but for an executor's known defects. These are a suite's expected failures
/// whose `converter` is "embedded+VARIANT" (with ":scales" or ":opaque" behind it at those artifact kinds) and whose
/// `versions` are those of the other program; entries about variants that do not run here say nothing.
struct FalseAlarmConfig {
  converters::Switchable converter;
  std::vector<run::RunItem> items;
  std::vector<std::string> variants;  ///< by name; empty: all that can run here
  std::vector<converters::ArtifactKind> kinds = {converters::ArtifactKind::qdq};
  int jobs = 0;
  std::vector<corpus::ExpectedFailure> expected_failures = {};
  OnJudged on_judged = {};  ///< sees every judgement, then in full depth
};

/// One variant's count.
struct VariantScore {
  std::string variant;
  std::size_t judgements = 0;  ///< trials that differ from the plain converter's in some bit, so were judged
  std::size_t known = 0;       ///< red as an expected failure says; not among `judgements`
  std::size_t same = 0;        ///< trials that are the plain converter's bit for bit
  std::size_t alarms = 0;
  std::size_t refused = 0;  ///< trials whose artifact the other program does not run: it has nothing to say about them
  std::string skipped;      ///< why it did not run
  std::string note = {};    ///< of the program that executes (ConverterSpec::note)
};

struct FalseAlarmReport {
  std::vector<VariantScore> variants;
  std::vector<FalseAlarm> alarms;
  std::vector<std::string> unused_expectations;  ///< entries that no judgement met: one line each
  [[nodiscard]] std::size_t judgements() const;
  /// Upper end of the one-sided 95 % confidence interval of the rate (Clopper and Pearson; 3/n without an alarm).
  [[nodiscard]] double upper_bound() const;
};

/// Errors   usage, for an empty selection or an unknown variant.
[[nodiscard]] core::Result<FalseAlarmReport> find_false_alarms(const FalseAlarmConfig& config);

/// The largest rate under which at most `alarms` of `count` happen with a probability of at least 5 %.
[[nodiscard]] double clopper_pearson_upper(std::size_t alarms, std::size_t count);

}  // namespace assay::score
