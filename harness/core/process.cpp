#include "harness/core/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "harness/core/descriptor.hpp"
#include "harness/core/keeper.hpp"
#include "harness/core/program.hpp"

namespace assay::core {
namespace {

using Clock = Process::Clock;

/// Bytes of standard output kept for nobody in particular while we write or wait.
constexpr std::size_t kUnreadOutputBytes = std::size_t{17} << 20U;
/// How often an ending is looked for where the system has no process descriptors.
constexpr std::chrono::milliseconds kReapInterval{5};
/// Reads of standard error after the end: more than the largest pipe holds.
constexpr int kLastHelpings = 32;

std::string errno_text(int code) { return std::error_code(code, std::generic_category()).message(); }

/// posix_spawn's two option objects, destroyed together.
struct SpawnSetup {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

int poll_milliseconds(Clock::time_point deadline, bool sees_ending) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  const auto longest = sees_ending ? std::chrono::milliseconds(60'000) : kReapInterval;
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count());
}

}  // namespace

std::string exit_text(const ExitState& state) {
  if (state.signal) {
    const char* name = ::sigabbrev_np(*state.signal);
    if (name == nullptr) return fmt::format("signal {}", *state.signal);
    return fmt::format("signal {} (SIG{})", *state.signal, name);
  }
  if (state.code) return fmt::format("exit status {}", *state.code);
  return "unknown end";
}

struct Process::State {
  pid_t pid = -1;
  int note = -1;      ///< the keeper's of the group
  Descriptor ending;  ///< readable when the child has ended; closed where the system has no pidfd_open
  Descriptor in, out, err;
  std::string unread;        ///< standard output that nobody has asked for yet
  std::size_t searched = 0;  ///< bytes of `unread` known to hold no newline
  std::string errors;
  std::size_t keep_errors = 0;
  std::optional<ExitState> exit;

  /// Kills what is left of the group while the ended child still holds its number, then reaps it.
  void reap(bool block) {
    if (exit) return;
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | (block ? 0 : WNOHANG)) != 0) {
      if (errno == EINTR) continue;
      exit = ExitState{};  // somebody else reaped it
      forget_group(note);
      return;
    }
    if (info.si_pid == 0) return;
    ::kill(-pid, SIGKILL);
    forget_group(note);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    exit = ExitState{};
    (info.si_code == CLD_EXITED ? exit->code : exit->signal) = info.si_status;
  }

  void keep_error_text(std::string_view bytes) {
    errors.append(bytes);
    if (errors.size() > 2 * keep_errors + 4096) errors.erase(0, errors.size() - keep_errors);
  }

  /// Reads what is there without waiting. Closes the descriptor at its end.
  void drain(Descriptor& fd, std::size_t unread_limit) {
    std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
    while (fd.open() && (&fd == &err || unread.size() < unread_limit)) {
      const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {
        // An ended child writes no more; what still holds the pipe open has left its group.
        if (exit) fd.reset();
        return;
      }
      if (count <= 0) {
        fd.reset();
        return;
      }
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      if (&fd == &err) {
        keep_error_text(bytes);
        return;  // one helping at a time: a flood must not keep us from the deadline
      }
      unread.append(bytes);
    }
  }

  /// The last words of an ended child, and nothing of what may still hold its pipe open.
  void drain_last_errors() {
    for (int helping = 0; helping < kLastHelpings && err.open(); ++helping) drain(err, 0);
    err.reset();
  }

  /// Waits until something happens or the deadline passes, and reads what has come.
  void pump(Clock::time_point deadline, bool wants_to_write, std::size_t unread_limit) {
    std::array<pollfd, 4> fds{};
    nfds_t count = 0;
    const auto watch = [&](bool wanted, const Descriptor& fd, short events) {
      if (wanted && fd.open()) fds[count++] = pollfd{fd.get(), events, 0};
    };
    watch(unread.size() < unread_limit, out, POLLIN);
    watch(true, err, POLLIN);
    watch(wants_to_write, in, POLLOUT);
    watch(!exit, ending, POLLIN);
    const int ready = ::poll(fds.data(), count, exit ? 0 : poll_milliseconds(deadline, ending.open()));
    if (ready < 0 && errno != EINTR) return;
    reap(false);
    drain(out, unread_limit);
    drain(err, 0);
  }
};

Process::Process(std::unique_ptr<State> state) : state_(std::move(state)) {}
Process::Process(Process&& other) noexcept = default;
Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    if (state_) kill_group();
    state_ = std::move(other.state_);
  }
  return *this;
}
Process::~Process() {
  if (state_) kill_group();
}

Result<Process> Process::spawn(const SpawnOptions& options) {
  const auto program =
      find_program(options.arguments.empty() ? "" : options.arguments.front(), child_path(options.environment));
  if (!program) return program.error();

  std::vector<std::string> words = options.arguments;
  words.front() = *program;
  if (options.memory_limit_bytes > 0) {
    // The shell limits itself and becomes the program: same process, no code of ours between fork and exec.
    const std::string limit = fmt::format("{}", std::max<std::uint64_t>(options.memory_limit_bytes / 1024, 1));
    const std::vector<std::string> shell = {"/bin/sh", "-c", "ulimit -v \"$0\" && exec \"$@\"", limit};
    words.insert(words.begin(), shell.begin(), shell.end());
  }
  std::map<std::string, std::string> added = options.environment;
  mark(added);
  std::vector<std::string> environment = child_environment(added);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);

  Pipe in;
  Pipe out;
  Pipe err;
  if (!open_pipe(in) || !open_pipe(out) || !open_pipe(err)) {
    return io_error(fmt::format("can't open pipes for \"{}\": {}", *program, errno_text(errno)));
  }
  SpawnSetup setup;
  posix_spawn_file_actions_adddup2(&setup.actions, in.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, err.write.get(), STDERR_FILENO);
  // Ours are close-on-exec; what we inherited ourselves need not be.
  posix_spawn_file_actions_addclosefrom_np(&setup.actions, STDERR_FILENO + 1);
  if (!options.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&setup.actions, options.working_folder.c_str());
  }
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setsigdefault(&setup.attributes, &all);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  auto state = std::make_unique<State>();
  const int failed =
      ::posix_spawn(&state->pid, argv.front(), &setup.actions, &setup.attributes, argv.data(), envp.data());
  if (failed != 0) {
    const std::string where = options.working_folder.empty() ? "" : " in \"" + options.working_folder + "\"";
    return io_error(fmt::format("can't start \"{}\"{}: {}", *program, where, errno_text(failed)));
  }
  state->note = note_group(state->pid);
  state->ending = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, state->pid, 0)));
  state->in = std::move(in.write);
  state->out = std::move(out.read);
  state->err = std::move(err.read);
  state->keep_errors = options.keep_stderr_bytes;
  for (const Descriptor* fd : {&state->in, &state->out, &state->err}) make_nonblocking(*fd);
  return Process(std::move(state));
}

bool Process::write(std::string_view bytes, Clock::time_point deadline) {
  State& s = *state_;
  while (s.in.open()) {
    if (bytes.empty()) return true;
    const ssize_t written = write_without_sigpipe(s.in.get(), bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN && !s.exit) {
      if (Clock::now() >= deadline) return false;
      s.pump(deadline, true, kUnreadOutputBytes);
    } else if (!(written < 0 && errno == EINTR)) {
      s.in.reset();
    }
  }
  return false;
}

Process::Line Process::read_line(Clock::time_point deadline, std::size_t limit_bytes) {
  State& s = *state_;
  while (true) {
    if (const std::size_t end = s.unread.find('\n', s.searched); end != std::string::npos) {
      s.searched = 0;
      if (end > limit_bytes) return {ReadEnd::too_long, {}};
      Line line{ReadEnd::line, s.unread.substr(0, end)};
      s.unread.erase(0, end + 1);
      return line;
    }
    s.searched = s.unread.size();
    if (s.unread.size() > limit_bytes) return {ReadEnd::too_long, {}};
    if (!s.out.open()) {
      s.searched = 0;
      return {ReadEnd::end_of_file, std::exchange(s.unread, {})};
    }
    if (Clock::now() >= deadline) return {ReadEnd::deadline, {}};
    s.pump(deadline, false, limit_bytes + 1);
  }
}

void Process::close_stdin() { state_->in.reset(); }

std::optional<ExitState> Process::wait(Clock::time_point deadline) {
  State& s = *state_;
  s.reap(false);
  while (!s.exit && Clock::now() < deadline) {
    s.pump(deadline, false, kUnreadOutputBytes);
    if (s.unread.size() >= kUnreadOutputBytes) s.out.reset();  // a flood that nobody reads
  }
  return s.exit;
}

ExitState Process::kill_group() {
  State& s = *state_;
  if (!s.exit) {
    ::kill(-s.pid, SIGKILL);
    s.reap(true);
  }
  s.in.reset();
  s.drain_last_errors();
  return *s.exit;
}

bool Process::running() {
  state_->reap(false);
  return !state_->exit;
}

int Process::pid() const { return state_->pid; }

std::string Process::stderr_tail() {
  State& s = *state_;
  if (s.exit) {
    s.drain_last_errors();
  } else {
    s.drain(s.err, 0);
  }
  return s.errors.size() > s.keep_errors ? s.errors.substr(s.errors.size() - s.keep_errors) : s.errors;
}

void Process::forget_stderr() {
  state_->drain(state_->err, 0);
  state_->errors.clear();
}

bool Process::has_buffered_output() {
  state_->drain(state_->out, kUnreadOutputBytes);
  return !state_->unread.empty();
}

Result<ExitState> run_attached(const std::vector<std::string>& arguments) {
  const auto program = find_program(arguments.empty() ? "" : arguments.front(), child_path({}));
  if (!program) return program.error();
  std::vector<std::string> words = arguments;
  words.front() = *program;
  std::vector<std::string> environment = child_environment({});
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  pid_t pid = -1;
  if (const int failed = ::posix_spawn(&pid, argv.front(), nullptr, nullptr, argv.data(), envp.data()); failed != 0) {
    return io_error(fmt::format("can't start \"{}\": {}", *program, errno_text(failed)));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return io_error(fmt::format("can't wait for \"{}\": {}", *program, errno_text(errno)));
  }
  ExitState state;
  if (WIFEXITED(status)) {
    state.code = WEXITSTATUS(status);
  } else {
    state.signal = WTERMSIG(status);
  }
  return state;
}

}  // namespace assay::core
