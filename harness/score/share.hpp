#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/score/score.hpp"

namespace assay::score {

/// The least share of observable faults that must be killed at an artifact kind, in percent.
[[nodiscard]] double least_share(converters::ArtifactKind kind);

struct Share {
  std::size_t faults = 0, killed = 0;  ///< of those that somebody can observe
  [[nodiscard]] double percent() const {
    return faults == 0 ? 0 : 100 * static_cast<double>(killed) / static_cast<double>(faults);
  }
};
[[nodiscard]] Share share_of(const ScoreReport& report, converters::ArtifactKind kind);

/// Faults that nobody sees in any case: equivalent, or without a case that exercises them.
[[nodiscard]] std::vector<std::string> unseen(const ScoreReport& report, converters::ArtifactKind kind);

/// Whether a score of these kinds is red. `whole`: all faults were asked for, so that a case that kills nothing and a
/// fault that none claims are known.
[[nodiscard]] bool is_red(const ScoreReport& report, const std::vector<converters::ArtifactKind>& kinds, bool whole);

}  // namespace assay::score
