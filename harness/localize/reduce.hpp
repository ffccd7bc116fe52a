#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/localize/submodel.hpp"
#include "harness/localize/trials.hpp"

namespace assay::localize {

/// One stage of a reduction at work, told as it goes on.
struct Progress {
  std::string stage;
  std::size_t nodes, bytes, checks;
};
using OnProgress = std::function<void(const Progress&)>;

/// Makes `start`, which holds, smaller while it holds: data sets and calibration batches, nodes, then inputs left out,
/// attributes, extents and values, until none of these changes anything. `suspects` are names of nodes and tensors
/// where the trouble is thought to be. Deterministic.
/// Of a start with a ready artifact only data and nodes are taken away, each part with its slice of the artifact.
/// Errors   what the reference says of `start`; invalid_model, where its artifact can't be read as Q/DQ.
[[nodiscard]] core::Result<Candidate> reduce(Candidate start, const std::vector<std::string>& suspects, Trials& trials,
                                             const OnProgress& on_progress = {});

/// The stages. Each takes what holds and gives what holds, at most as large.

/// A calibration batch and an input of several.
[[nodiscard]] Candidate reduce_data(Candidate best, Trials& trials);
/// Delta debugging over the nodes, beginning near the suspects.
[[nodiscard]] core::Result<Candidate> reduce_nodes(Candidate best, const std::vector<std::string>& suspects,
                                                   Trials& trials);
/// Outputs, optional inputs, attributes.
[[nodiscard]] Candidate reduce_interface(Candidate best, Trials& trials);
/// Extents of inputs and initializers: batch, channels, height and width, kernels.
[[nodiscard]] Candidate reduce_extents(Candidate best, Trials& trials);
/// Initializers of fewer distinct values.
[[nodiscard]] Candidate reduce_values(Candidate best, Trials& trials);

}  // namespace assay::localize
