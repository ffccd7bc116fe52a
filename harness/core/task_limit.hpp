#pragma once

#include <cstddef>
#include <filesystem>

namespace assay::core {

/// Most threads that a program may have at a time, of all its processes together. Some libraries keep a few for each
/// model that they ever ran.
inline constexpr std::size_t kMostThreads = 16384;

/// A limit that the kernel keeps on a process and all that comes from it, so that what starts processes faster than
/// they are counted can't fill the machine: a control group with kMostThreads, where one can be made (root mostly,
/// and users to whom one is delegated); else a limit on all threads of the user, which root doesn't have.
class TaskLimit {
 public:
  TaskLimit();
  TaskLimit(const TaskLimit&) = delete;
  TaskLimit& operator=(const TaskLimit&) = delete;
  /// Removes the group; all in it have ended.
  ~TaskLimit();
  /// This process, a child of the one that made the limit, is within it from now on.
  void enter() const;
  /// What is within it starts nothing any more; only with a control group.
  void close() const;
  /// Whether something was refused a process or thread before it was closed; only a control group tells.
  [[nodiscard]] bool reached() const;

 private:
  std::filesystem::path group_;  ///< empty: none
};

}  // namespace assay::core
