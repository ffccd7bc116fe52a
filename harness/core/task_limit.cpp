#include "harness/core/task_limit.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/core/files.hpp"

namespace assay::core {
namespace fs = std::filesystem;
namespace {

constexpr const char* kGroups = "/sys/fs/cgroup";
/// Followed by the number of the process that made it.
constexpr std::string_view kOurs = "assay-";

/// The group of this process in the hierarchy that limits tasks: that of version 1, which is called so, else that of
/// version 2. Empty where there is neither.
fs::path own_group() {
  std::ifstream file("/proc/self/cgroup");
  fs::path unified;
  for (std::string line; std::getline(file, line);) {  // "8:pids:/a/b", "0::/a/b"
    const std::size_t names = line.find(':'), path = line.find(':', names + 1);
    if (names == std::string::npos || path == std::string::npos) continue;
    const std::string controllers = line.substr(names + 1, path - names - 1);
    const fs::path below = fs::path(line.substr(path + 1)).relative_path();
    if (controllers == "pids") return fs::path(kGroups) / "pids" / below;
    if (controllers.empty()) unified = fs::path(kGroups) / below;
  }
  return unified;
}

/// Groups of processes that were killed before they could remove them.
void sweep(const fs::path& parent) {
  std::error_code code;
  for (fs::directory_iterator entry(parent, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kOurs)) continue;
    const pid_t owner = std::atoi(name.c_str() + kOurs.size());  // NOLINT(cert-err34-c): 0 for what is no number
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) ::rmdir(entry->path().c_str());
  }
}

/// Below `parent`; empty where none can be made that limits tasks.
fs::path make_group(const fs::path& parent) {
  if (parent.empty() || ::access(parent.c_str(), W_OK) != 0) return {};
  sweep(parent);
  fs::path group = parent / fmt::format("{}{}", kOurs, ::getpid());
  std::error_code code;
  if (!fs::create_directory(group, code)) return {};
  const fs::path most = group / "pids.max";
  if (!fs::exists(most, code)) write_into(parent / "cgroup.subtree_control", "+pids");
  if (write_into(most, std::to_string(kMostThreads))) return group;
  ::rmdir(group.c_str());
  return {};
}

/// Of all threads of this user, those of other lanes and of the desktop among them: far above what converters need.
void limit_user() {
  struct sysinfo info {};
  rlimit now{};
  if (::sysinfo(&info) != 0 || ::getrlimit(RLIMIT_NPROC, &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, info.procs + kMostThreads);
  ::setrlimit(RLIMIT_NPROC, &now);
}

}  // namespace

TaskLimit::TaskLimit() : group_(make_group(own_group())) {}

TaskLimit::~TaskLimit() {
  if (!group_.empty()) ::rmdir(group_.c_str());
}

void TaskLimit::enter() const {
  if (group_.empty() || !write_into(group_ / "cgroup.procs", std::to_string(::getpid()))) limit_user();
}

void TaskLimit::close() const {
  if (!group_.empty()) write_into(group_ / "pids.max", "0");
}

bool TaskLimit::reached() const {
  std::ifstream file(group_ / "pids.events");  // "max N"
  std::string word;
  std::size_t times = 0;
  return !group_.empty() && file >> word >> times && times > 0;
}

}  // namespace assay::core
