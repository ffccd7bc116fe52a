#pragma once

#include "harness/cli/common.hpp"

namespace assay::cli {

/// What `action` gives; where it throws, that is said, and this program's own fault.
[[nodiscard]] int run_caught(const Action& action);

/// `action` in a forked process that this one watches: where it dies, or takes more than four fifths of the memory that
/// there is, this one says so and that nothing is said of the model or the converter (exit code 3), and nothing that it
/// had started stays. For commands that judge what others made and that don't run in lanes (harness/run/lanes.hpp).
[[nodiscard]] Action guarded(Action action);

}  // namespace assay::cli
