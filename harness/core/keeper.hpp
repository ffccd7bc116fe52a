#pragma once

#include <sys/types.h>

#include <map>
#include <string>

namespace assay::core {

/// What must not outlive this program: a small process, started with the first program that it starts, waits for its
/// end and that of all its forked children. Then it kills the process groups that are still noted, and whatever else
/// carries this program's mark in its environment: daemons that have left their group. However the program ends,
/// SIGKILL included, nothing that it started stays.

/// Starts the keeper unless it runs. Before a fork of this process, whose children note their groups with it too. Where
/// it can't be started, nothing is kept.
void start_keeper();

/// Puts this program's mark into the environment of a program that it starts. Marks of programs that have started this
/// one stay.
void mark(std::map<std::string, std::string>& environment);

/// Notes a group of ours; the number of its note, to be given to forget_group(), -1 where there is no room for it.
[[nodiscard]] int note_group(pid_t group);
/// The group has ended and its number may become another's.
void forget_group(int note);
/// SIGKILL to every group that the process `owner` (a forked child that has ended) had noted.
void kill_groups_of(pid_t owner);

}  // namespace assay::core
