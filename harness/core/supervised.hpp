#pragma once

#include <cstddef>
#include <functional>

#include "harness/core/process.hpp"

namespace assay::core {

/// Most processes that a supervised program may have at a time.
inline constexpr std::size_t kMostProcesses = 512;

/// Forks a child that calls `become`, which ends by becoming a program or gives an exit code, and waits for its end.
/// Nothing that the child started survives it, daemons included; nor this process, the child. With more than
/// kMostProcesses descendants or kMostThreads all of them are killed, which standard error says then; the kernel
/// keeps to the latter where it can (task_limit.hpp). This process leaves its group to the child: what kills the group
/// leaves it here to kill what has left the group. To be called by a process of one thread, which is to do nothing
/// else.
[[nodiscard]] ExitState supervise(const std::function<int()>& become);

/// Ends this process as `state` says.
[[noreturn]] void end_as(const ExitState& state);

}  // namespace assay::core
