#pragma once

#include <string>

#include "converters/embedded/machine.hpp"

namespace assay::embedded {

/// Confines what was built into `machine` to the node named `node`: every other node's part of the state is put back
/// after each edit.
/// Errors   usage, where the fault is no edit of nodes' own state: arithmetic, a pass replaced, files.
[[nodiscard]] Status confine(Machine& machine, const std::string& fault, const std::string& node);

}  // namespace assay::embedded
