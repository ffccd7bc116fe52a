#pragma once

#include <sys/types.h>

namespace assay::core {

/// Process groups that must not outlive this program: a small process, started with the first of them, waits for the
/// end of the program and of all its forked children, and then kills what is still noted. However the program ends,
/// SIGKILL included, nothing that it started stays.

/// Starts the keeper unless it runs. Before a fork of this process, whose children note their groups with it too. Where
/// it can't be started, nothing is kept.
void start_keeper();

/// Notes a group of ours; the number of its note, to be given to forget_group(), -1 where there is no room for it.
[[nodiscard]] int note_group(pid_t group);
/// The group has ended and its number may become another's.
void forget_group(int note);
/// SIGKILL to every group that the process `owner` (a forked child that has ended) had noted.
void kill_groups_of(pid_t owner);

}  // namespace assay::core
