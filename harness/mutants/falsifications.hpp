#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/mutants/artifact_graphs.hpp"

namespace assay::mutants {

/// How a tensor is made wrong for certain: every value times a factor, or its first two channels swapped.
enum class Falsification { negated, zeroed, scaled, channels_swapped };
inline constexpr std::array kFalsifications{Falsification::negated, Falsification::zeroed, Falsification::scaled,
                                            Falsification::channels_swapped};
[[nodiscard]] std::string_view falsification_name(Falsification falsification);

/// One place in an artifact: output `output` of node `node` in the graph `graph` (index into artifact_graphs()).
struct FalsifiedPlace {
  std::size_t graph = 0, node = 0, output = 0;
  Falsification falsification = Falsification::negated;
};

/// Every place at which an artifact can be falsified, in the order of its graphs and nodes. Codes have no factor, only
/// channels; a tensor without two channels has none to swap.
[[nodiscard]] std::vector<FalsifiedPlace> falsified_places(const std::vector<ArtifactGraph>& graphs);

/// `artifact` with a Mul or Gather behind that output: the tensor keeps its name, so that all its readers get what the
/// new node makes.
[[nodiscard]] model::Model falsified(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                                     const FalsifiedPlace& place);

/// The same done to values; nothing where it does not apply.
[[nodiscard]] std::optional<core::Tensor> falsified(const core::Tensor& tensor, Falsification falsification);

}  // namespace assay::mutants
