#pragma once

#include <string>
#include <vector>

#include "results/drift.hpp"

namespace assay::report {

/// A run's verdicts beside those that they are compared to.
struct Comparison {
  std::string now;      ///< "onnxruntime 1.31.1"
  std::string against;  ///< "accepted anchors", "onnxruntime 1.30.0"
  std::vector<results::AnchorRow> anchors;
  std::vector<results::ResultRow> rows;
};

/// What changed, and nothing else, in Markdown that is short enough for a comment on a pull request: one sentence of
/// counts, behind a tick only where the verdicts' exit code is 0; what became red, grouped by cause with its smallest
/// case and how to repeat it; what is new and red; what is red no more; then what else moved, a line each. `command` is
/// the run's recorded command line.
[[nodiscard]] std::string changes_page(const Comparison& comparison, const std::string& command);

}  // namespace assay::report
