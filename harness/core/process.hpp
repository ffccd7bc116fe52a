#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::core {

/// How a child ended.
struct ExitState {
  std::optional<int> code;    ///< exit status, when it exited
  std::optional<int> signal;  ///< signal number, when it was killed
};
/// "exit status 3", "signal 11 (SIGSEGV)".
[[nodiscard]] std::string exit_text(const ExitState& state);

struct SpawnOptions {
  std::vector<std::string> arguments;              ///< [0] is the program, looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to ours
  std::string working_folder;                      ///< empty: ours
  std::uint64_t memory_limit_bytes = 0;            ///< RLIMIT_AS in the child, 0: none
  std::size_t keep_stderr_bytes = 64U << 10U;      ///< the newest so many bytes of standard error are kept
};

/// A child process started with posix_spawn in a process group of its own, with pipes on its three streams. Standard
/// error is drained while we wait for anything. When the child ends, what it left running in its group is killed;
/// destroying the object kills the whole group, and so does the end of this program, however it ends (keeper.hpp). An
/// object belongs to one thread at a time.
class Process {
 public:
  /// Errors   io, for a program or working folder that is missing or can't be run. Safe to call from many threads.
  [[nodiscard]] static Result<Process> spawn(const SpawnOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  using Clock = std::chrono::steady_clock;
  enum class ReadEnd { line, end_of_file, deadline, too_long };
  struct Line {
    ReadEnd end = ReadEnd::end_of_file;
    std::string text;  ///< without the newline; at end_of_file what came after the last newline
  };
  /// Writes all of `bytes`, never past the deadline, draining the child's output meanwhile. False: the deadline passed
  /// or the child closed its standard input.
  [[nodiscard]] bool write(std::string_view bytes, Clock::time_point deadline);
  /// The next line of standard output.
  [[nodiscard]] Line read_line(Clock::time_point deadline, std::size_t limit_bytes = 16U << 20U);
  void close_stdin();
  /// Waits for the end; nothing when the deadline passes first.
  [[nodiscard]] std::optional<ExitState> wait(Clock::time_point deadline);
  /// SIGKILL to the group, and reaps.
  ExitState kill_group();
  [[nodiscard]] bool running();
  [[nodiscard]] int pid() const;
  /// The newest bytes of standard error.
  [[nodiscard]] std::string stderr_tail();
  /// Reads what standard error holds now and forgets it: the tail then tells of what comes after.
  void forget_stderr();
  /// True when lines wait that nobody has asked for.
  [[nodiscard]] bool has_buffered_output();

 private:
  struct State;
  explicit Process(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Runs a program (looked up in PATH) with our streams, in our process group, and waits: for a helper that talks to the
/// terminal itself.
/// Errors   io, for a program that is missing or can't be run.
[[nodiscard]] Result<ExitState> run_attached(const std::vector<std::string>& arguments);

}  // namespace assay::core
