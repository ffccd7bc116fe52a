#pragma once

#include <string>

#include "harness/run/evaluate.hpp"

namespace assay::report {

/// What the page of one verdict draws, as JSON: "original" and "artifact", graphs of nodes [name, operator, inputs,
/// outputs, attributes] with the tensors' shapes; "made", for each node of the original the artifact's node that does
/// it, or -1; "judged", [node, operator, layer, reason]; "tensors" with the parameters that the calibration data give
/// and those that were declared; "weights" by channel; "explanation", the derivation as text.
[[nodiscard]] std::string detail_json(const run::Trial& trial, const judge::Explained& explained);

/// Keeps it of red and `unjudged` verdicts, or of all.
[[nodiscard]] run::DetailKept kept_detail(bool of_all);

}  // namespace assay::report
