#pragma once

#include <filesystem>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::core {

/// What a process may reach.
struct Sandbox {
  std::vector<std::filesystem::path> writable;  ///< folders that it may read and write
  std::vector<std::filesystem::path> readable;  ///< files and folders below a home that it may read
};

/// Whether this system can confine a process: Landlock is in its kernel, and switched on.
[[nodiscard]] bool can_confine();

/// Confines this process and all that it starts, for good: it writes into `writable` and to a few devices (those of
/// GPUs are among them), reads everything but homes (of which `readable` stays), opens no TCP connection or port where
/// the kernel can forbid it (Linux 6.7), gains no rights by a setuid program, sends no signal to processes outside
/// (Linux 6.12), leaves no core dump, and writes no file over 16 GiB.
/// Errors   unsupported, where the system can't.
[[nodiscard]] Status confine(const Sandbox& sandbox);

}  // namespace assay::core
