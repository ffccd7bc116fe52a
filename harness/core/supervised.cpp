#include "harness/core/supervised.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include "harness/core/descriptor.hpp"
#include "harness/core/task_limit.hpp"

namespace assay::core {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

/// How often processes are counted.
constexpr timespec kTick{0, 100'000'000};
/// For what was killed to end.
constexpr timespec kMoment{0, 2'000'000};
/// How long processes that start others are hunted.
constexpr std::chrono::seconds kHunt{10};
/// The machine's threads are counted by one call; what has started them is looked for where so many more are there.
constexpr std::size_t kGrowth = kMostProcesses / 4;

struct Running {
  std::set<pid_t> processes;
  std::size_t threads = 0;
};

struct Stat {
  pid_t parent = 0;
  std::size_t threads = 0;
};

/// Of /proc/PID/stat; nothing of a process that has ended.
std::optional<Stat> read_stat(const fs::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');  // the name may hold blanks and brackets
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state;
  Stat stat;
  constexpr int kBetween = 15;  // fields between the parent, 4, and the number of threads, 20
  fields >> state >> stat.parent;
  if (state == "Z" || state == "X") return std::nullopt;
  std::string skipped;
  for (int field = 0; field < kBetween; ++field) fields >> skipped;
  fields >> stat.threads;
  return stat;
}

/// All that comes from this process.
Running descendants() {
  std::map<pid_t, Stat> all;
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), end; !code && entry != end; entry.increment(code)) {
    const pid_t pid = std::atoi(entry->path().filename().c_str());  // NOLINT(cert-err34-c): 0 for what is no number
    if (pid <= 0) continue;
    if (const std::optional<Stat> stat = read_stat(entry->path())) all.emplace(pid, *stat);
  }
  Running ours;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [pid, stat] : all) {
      if (stat.parent != ::getpid() && !ours.processes.contains(stat.parent)) continue;
      if (!ours.processes.insert(pid).second) continue;
      ours.threads += stat.threads;
      more = true;
    }
  }
  return ours;
}

std::size_t threads_of_the_machine() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? info.procs : 0;
}

class Supervisor {
 public:
  Supervisor(pid_t child, const TaskLimit& limit)
      : child_(child),
        limit_(limit),
        // Where that is impossible, what kills the group kills this process with it, and the child by its death.
        has_left_(::getpgrp() == ::getpid() && ::setpgid(0, ::getpgid(::getppid())) == 0),
        known_(threads_of_the_machine()) {
    constexpr int kFirst = -20;
    ::setpriority(PRIO_PROCESS, 0, kFirst);  // where it may
  }

  ExitState watch() {
    bool stopped = false;
    while (!state_) {
      wait_for_an_end(kTick);
      reap();
      if (!state_ && too_many()) {
        hunt();
        stopped = true;
        say(fmt::format("stopped, it ran more than {} processes or {} threads at a time", kMostProcesses,
                        kMostThreads));
      }
    }
    const bool refused = !stopped && limit_.reached();
    hunt();
    if (refused) say(fmt::format("a process or thread was refused: it had {} already", kMostThreads));
    return *state_;
  }

 private:
  /// False where there is no child any more.
  bool reap() {
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return pid == 0;
      if (pid != child_) continue;
      state_.emplace();
      if (WIFEXITED(status)) {
        state_->code = WEXITSTATUS(status);
      } else {
        state_->signal = WTERMSIG(status);
      }
    }
  }

  [[nodiscard]] bool too_many() {
    const std::size_t now = threads_of_the_machine();
    if (now < known_ + kGrowth) {
      known_ = std::min(known_, now);
      return false;
    }
    known_ = now;
    // Where it is this program that starts so many, they leave no time to count them.
    if (has_left_) ::kill(-::getpid(), SIGSTOP);
    const Running running = descendants();
    if (running.processes.size() > kMostProcesses || running.threads > kMostThreads) return true;
    if (has_left_) ::kill(-::getpid(), SIGCONT);
    // What was about to leave the group took the stop with it.
    for (const pid_t pid : running.processes) ::kill(pid, SIGCONT);
    return false;
  }

  /// Kills all that comes from this process: what has lost its parent is this one's child.
  void hunt() {
    const auto end = Clock::now() + kHunt;
    limit_.close();
    if (has_left_) ::kill(-::getpid(), SIGKILL);  // at once, which nothing in it can outrun
    while (reap() && Clock::now() < end) {
      for (const pid_t pid : descendants().processes) ::kill(pid, SIGKILL);
      wait_for_an_end(kMoment);
    }
  }

  static void wait_for_an_end(const timespec& longest) {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    ::sigtimedwait(&ended, nullptr, &longest);
  }

  static void say(const std::string& what) {
    const std::string line = fmt::format("assay: {}\n", what);
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  }

  pid_t child_;
  const TaskLimit& limit_;
  bool has_left_;      ///< the group, which has this process's number
  std::size_t known_;  ///< the machine's threads when they were looked at, or fewer
  std::optional<ExitState> state_;
};

}  // namespace

ExitState supervise(const std::function<int()>& become) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t ended, before;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ended, &before);
  const TaskLimit limit;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return {.code = 1, .signal = std::nullopt};
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it has died before that
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    limit.enter();
    ::_exit(become());
  }
  // Whoever waits for the end of the program's streams is not to wait for this process.
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(nothing.get(), STDOUT_FILENO);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  return Supervisor(child, limit).watch();
}

void end_as(const ExitState& state) {
  if (state.signal) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(*state.signal, SIG_DFL);
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, *state.signal);
    ::sigprocmask(SIG_UNBLOCK, &it, nullptr);
    ::raise(*state.signal);
  }
  ::_exit(state.code.value_or(1));
}

}  // namespace assay::core
