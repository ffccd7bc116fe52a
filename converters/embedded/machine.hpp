#pragma once

#include <string>
#include <vector>

#include "converters/embedded/embedded.hpp"
#include "converters/embedded/engine/policy.hpp"
#include "converters/embedded/pipeline.hpp"

namespace assay::embedded {

/// An engine that misreads an artifact runs another one: what it takes the graph for.
using Misreading = void (*)(model::Model& artifact);

/// What a fault may change: the list of passes, the graph as the engine takes it, and the engine's arithmetic. Passes
/// and kernels know nothing of it.
struct Machine {
  Passes passes = standard_passes();
  std::vector<Misreading> misreadings;  ///< before an artifact is compiled for execution
  engine::ArithmeticPolicy policy;
};

/// The machine with the named faults and the variant built in. "NAME@NODE" is a fault at that node alone.
/// Errors   usage, for an unknown name, listing the nearest; for a fault that can't be confined to a node.
[[nodiscard]] Result<Machine> build_machine(const std::vector<std::string>& faults, const std::string& variant);

}  // namespace assay::embedded
