#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/store.hpp"
#include "results/wilcoxon.hpp"

namespace assay::results {

// The limits of docs/drift.md.
inline constexpr double kCaseFloorDb = 0.75;   ///< what a single verdict may move
inline constexpr double kWobbleFactor = 5;     ///< standard deviations of a difference of two measurements
inline constexpr double kSuiteFloorDb = 0.15;  ///< what the suite's median may move
inline constexpr double kSuiteAlpha = 1e-3;    ///< of the signed-rank test
/// 20·log10(2²⁴). One rounding to float32 is off by at most 2⁻²⁴ of the value, so that a larger SQNR is no quantization
/// noise but that of the last float32 operation, which another machine may do otherwise. What lies beyond is equal.
inline constexpr double kFloat32Db = 144.4943979;

/// How much repeated measurements of one version differ among themselves: `repeats` are verdicts of one series by one
/// version, oldest first.
///
/// Formula  the (lower) median of the successive |ΔdB|, over 0.6745·√2: the standard deviation where the noise is
///          normal. A median, so that one step inside the history (a rebuilt converter under the same version) is not
///          taken for noise and does not widen its own limit. Parameters wobble where most successive repeats differ.
/// Range    fewer than three measured repeats can't tell a step from noise: 0.
[[nodiscard]] Wobble measure_wobble(std::span<const ResultRow> repeats);

/// What a verdict's SQNR may move against its anchor: max(0.75, 5·w·√2) dB.
[[nodiscard]] double limit_db(const Wobble& wobble);

enum class ChangeKind { verdict, margin, sqnr, parameters };
[[nodiscard]] std::string_view change_name(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::verdict;
  std::optional<double> delta;  ///< now − anchor: dB, margin
  std::string detail;           ///< "38.2 → 36.9 dB (-1.3, limit 0.75)"
};

/// Everything in which `now` differs from its anchor by more than it may, better or worse:
/// - another verdict, stage or facet;
/// - the margin on the other side of 1;
/// - the SQNR, up to kFloat32Db, by more than limit_db; or measured on one side only while the verdict stayed (none is
///   kept of exact outputs, so that none and one beyond kFloat32Db are equal);
/// - other quantization parameters, the case's data being the same, unless they wobble by themselves.
[[nodiscard]] std::vector<Change> changes_since(const AnchorRow& anchor, const ResultRow& now);

struct FamilyShift {
  std::string family;
  std::size_t verdicts = 0;
  double median_db = 0;
};
/// One converter's suite as a whole.
struct SuiteShift {
  std::vector<FamilyShift> families;  ///< by name, unmoved ones too
  SignedRank test;                    ///< one pair per family: its median
  double median_db = 0;               ///< over the families that moved: the pairs of the test
  [[nodiscard]] bool testable() const { return test.pairs >= fewest_pairs(kSuiteAlpha); }
  [[nodiscard]] bool drifted() const;
};
/// `differences`: SQNR now − before of each verdict, by family; finite.
[[nodiscard]] SuiteShift suite_shift(const std::map<std::string, std::vector<double>>& differences);

/// A verdict that moved, with what it was held against.
struct Drifted {
  AnchorRow anchor;
  ResultRow now;
  std::vector<Change> changes;
  std::string since;  ///< the version, where trace_back looked for it
};
struct DriftReport {
  std::size_t compared = 0;                  ///< verdicts that have an anchor
  std::size_t without = 0;                   ///< that have none
  std::size_t edited = 0;                    ///< of these: their case had one before it was edited
  std::size_t unmet = 0;                     ///< anchors whose series has no verdict
  std::vector<Drifted> drifted;              ///< in the order of the verdicts
  std::map<std::string, SuiteShift> suites;  ///< by "converter@version"
  [[nodiscard]] bool any() const;
};
/// Whether a verdict says something about the converter: it was made, and is not Assay's own fault.
[[nodiscard]] bool comparable(const ResultRow& row);

/// Holds each comparable verdict to the anchor of its series: same case content, options and converter, of whatever
/// version. Of several anchors of one series the first counts.
[[nodiscard]] DriftReport compare_to_anchors(const std::vector<AnchorRow>& anchors,
                                             const std::vector<ResultRow>& verdicts);

/// Holds a run's verdicts to the newest anchors and records what changed. No anchors: an empty report.
[[nodiscard]] core::Result<DriftReport> record_drift(Store& store, const std::string& run,
                                                     const std::vector<ResultRow>& verdicts);

/// Finds since which version each drifted verdict has been as it is: it differs from its anchor in that version and
/// every later one, with today's verdict, stage and facet. `between`: the versions after the anchor's and before the
/// compared one, oldest first; a version without the series is passed over.
[[nodiscard]] core::Status trace_back(DriftReport& report, Store& store, const std::vector<std::string>& between);

}  // namespace assay::results
