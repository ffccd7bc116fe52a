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
  std::set<std::filesystem::path> hidden;       ///< folders that it may not read: homes(), mostly
  std::vector<std::filesystem::path> writable;  ///< folders that it may read and write
  std::vector<std::filesystem::path> readable;  ///< files and folders below a home that it may read
  bool gpu = false;                             ///< the device files of GPUs
};

/// Whether this system can keep a process from files and network: Landlock and seccomp are in its kernel, and switched
/// on.
[[nodiscard]] bool can_confine();

/// Confines this process, which has one thread, and all that it starts, for good: it writes into `writable`, to a few
/// devices and into a /dev/shm of its own (none where the system gives it none), reads everything but `hidden` (of
/// which `readable` stays), devices and what /run holds of users and secrets, makes no socket but a local one, gains no
/// rights by a setuid program, and sends no signal to processes outside (Linux 6.12). Errors   unsupported, where the
/// system can't: what it can do is done then.
[[nodiscard]] Status confine(const Sandbox& sandbox);

/// Whether `folder`, absolute, is somebody's home, or holds one.
[[nodiscard]] bool holds_a_home(const std::filesystem::path& folder);

/// This process and what it starts leave no core dump and write no file over 16 GiB.
void limit_files();

}  // namespace assay::core
