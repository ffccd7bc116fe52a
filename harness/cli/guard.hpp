#pragma once

#include <functional>

#include "harness/cli/common.hpp"
#include "harness/run/lanes.hpp"

namespace assay::cli {

/// What `action` gives; where it throws, that is said, and this program's own fault.
[[nodiscard]] int run_caught(const Action& action);

/// `action` in a forked process that this one watches: where it dies, or takes more than four fifths of the memory that
/// there is, this one says so and that nothing is said of the model or the converter (exit code 3), and nothing that it
/// had started stays. For commands that judge what others made and that don't run in lanes (harness/run/lanes.hpp).
[[nodiscard]] Action guarded(Action action);

/// The same of an action that ends by itself when it is asked to (stop_signal.hpp): the first signal is passed on to
/// it, a second one ends it.
[[nodiscard]] Action guarded_asking_first(Action action, std::function<run::JudgeLimits()> limits);

/// The same within the limits that the command line names. The time is that of one step of judging
/// (core::Forked::begin_step) and the processor's, since what converters take has limits of its own. Asked for once the
/// command line is read.
[[nodiscard]] Action guarded(Action action, std::function<run::JudgeLimits()> limits);

}  // namespace assay::cli
