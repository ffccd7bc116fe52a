#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::core {

/// $HOME; empty where it isn't set.
[[nodiscard]] std::filesystem::path user_home();

/// The home of the user, those of users in general, and that of root; without links.
[[nodiscard]] const std::set<std::filesystem::path>& homes();

/// What a process may reach.
struct Sandbox {
  std::set<std::filesystem::path> hidden;  ///< folders that it may not read: homes(), mostly
  std::filesystem::path job;   ///< folder that it shares with this program: read and write, but make no symbolic links
  std::filesystem::path home;  ///< of its own, not in `job`: read and write, with links
  std::vector<std::filesystem::path> writable;  ///< further folders that it may read and write
  std::vector<std::filesystem::path> readable;  ///< files and folders below a home that it may read
  bool gpu = false;                             ///< the device files of GPUs
};

/// Whether this system can keep a process from files and network: Landlock and seccomp are in its kernel, and switched
/// on.
[[nodiscard]] bool can_confine();

/// Confines this process, which has one thread, and all that it starts, for good: it writes into `job`, `home` and
/// `writable`, to a few devices and into a /dev/shm of its own (none where the system gives it none), changes no
/// rights, owners and times of other files (Linux 5.12, and where the system lets it have mounts of its own), reads
/// everything but `hidden` (of which `readable` stays), devices and what /run holds of users and secrets, makes no
/// device and no socket but a local one, reads no keys, sets no limits of others, gains no rights by a setuid program,
/// has few of root's, and sends no signal to processes outside (Linux 6.12). Errors   unsupported, where the system
/// can't: what it can do is done then.
[[nodiscard]] Status confine(const Sandbox& sandbox);

/// Whether `folder`, absolute, is somebody's home, or holds one.
[[nodiscard]] bool holds_a_home(const std::filesystem::path& folder);

/// This process and what it starts leave no core dump and write no file over 16 GiB.
void limit_files();

}  // namespace assay::core
