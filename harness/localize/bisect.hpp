#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/localize/criterion.hpp"
#include "harness/localize/ddmin.hpp"
#include "harness/localize/node_table.hpp"
#include "harness/localize/submodel.hpp"

namespace assay::localize {

/// A part of the model that goes wrong by itself, fed with what the float64 reference has before it.
struct WrongPart {
  std::vector<std::string> nodes;  ///< one, or those that go wrong only together
  judge::Judgement judgement;      ///< of the part
};

/// Nodes that go wrong, found by converting parts of the model: for converters whose artifact doesn't show what is
/// inside. The model is halved where the fewest tensors cross, which is a dominator of its outputs where there is one,
/// down to parts of `part_nodes` nodes at most: what is wrong in one node drowns in the noise of many. All of those are
/// converted, and the red ones halved on, so that every one is found, and not the first alone. The judged build itself
/// is left as it is.
/// Errors   what the reference says of `whole`.
[[nodiscard]] core::Result<std::vector<WrongPart>> wrong_parts(
    const Candidate& whole, const Judge& judge, std::size_t part_nodes,
    const std::function<void(const std::string&)>& on_progress = {});

/// The fewest of the calibration batches, by index, with which the verdict keeps its signature.
[[nodiscard]] Items needed_batches(const Candidate& whole, const Judge& judge, const std::string& signature);

/// The fewest of the executor's optimizers (converters::Supports::optimizers) without which nothing is red; nothing
/// where all of them left out still leave it red. `whole` is red with all of them.
[[nodiscard]] std::vector<std::string> guilty_optimizers(
    const Candidate& whole, Judge& judge, const std::function<void(const std::string&)>& on_progress = {});

}  // namespace assay::localize
