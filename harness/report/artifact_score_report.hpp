#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/mutants/artifact_score.hpp"

namespace assay::report {

/// How the command line says of one changed artifact …
struct EscapeCommands {
  std::function<std::string(const mutants::Escape&)> repeat;  ///< … how to try it again
  std::function<std::string(const mutants::Escape&)> check;   ///< … how to judge the files that were kept of it
};

/// What `score --artifacts --json` says. `falsified`: every place in turn, and no random defects.
[[nodiscard]] nlohmann::ordered_json artifact_score_json(const mutants::ArtifactScoreReport& report, bool falsified,
                                                         const EscapeCommands& commands);
/// The same as tables, with those that escaped in full.
[[nodiscard]] std::string artifact_score_text(const mutants::ArtifactScoreReport& report, bool falsified,
                                              const EscapeCommands& commands);

}  // namespace assay::report
