#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/mutants/artifact_graphs.hpp"

namespace assay::mutants {

/// A graph under the knife.
struct Draft {
  model::Graph graph;
  const std::map<std::string, TensorFacts>& tensors;
};

/// Where a defect was put, and what it is, in words.
struct Defect {
  std::string node, op, what;
};

/// One kind of defect. `apply` puts one into the graph at a place that it draws; nothing, and the graph as it was,
/// where the graph has no such place.
struct MutationRow {
  std::string_view kind;
  std::string_view title;
  std::optional<Defect> (*apply)(Draft& draft, core::Rng& rng);
};
[[nodiscard]] std::span<const MutationRow> mutation_table();

/// A changed artifact.
struct Mutant {
  model::Model model;
  std::string_view kind;
  Defect defect;
};

/// Number `index` of the mutants of `artifact`: the same for the same seed, label and index. The kinds take turns; one
/// that finds no place gives way to another. Nothing where none does.
[[nodiscard]] std::optional<Mutant> make_mutant(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                                                std::uint64_t seed, std::string_view label, std::size_t index);

}  // namespace assay::mutants
