#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/descriptor.hpp"
#include "harness/core/process.hpp"
#include "harness/core/result.hpp"

namespace assay::core {

/// A copy of this process that works on its own: it has all that this one held in memory when it was forked, a process
/// group of its own, and dies with this one. What kills it kills nothing else. The two send each other messages of any
/// bytes. To be made by a process without other threads.
class Forked {
 public:
  /// The child's end. Safe to call from its threads.
  class Line {
   public:
    Line(Descriptor orders, Descriptor news) : orders_(std::move(orders)), news_(std::move(news)) {}
    /// The next message of the parent; nothing once it sends no more.
    [[nodiscard]] std::optional<std::string> receive();
    void send(std::string_view message);

   private:
    Descriptor orders_, news_;
    std::mutex receiving_, sending_;
  };

  /// The child runs `work` and ends; destructors of what the parent had made don't run in it.
  /// Errors   io, where the system has no process or pipe left.
  [[nodiscard]] static Result<Forked> start(const std::function<void(Line& line)>& work);
  Forked(Forked&& other) noexcept;
  Forked& operator=(Forked&& other) noexcept;
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  /// Kills it.
  ~Forked();

  /// False where it has ended.
  [[nodiscard]] bool send(std::string_view message);
  /// The child's receive() gives nothing from now on.
  void send_no_more() { orders_.reset(); }
  /// Readable when there is something to receive(), or it has ended.
  [[nodiscard]] int descriptor() const { return news_.get(); }
  /// The messages that have come, without waiting.
  [[nodiscard]] std::vector<std::string> receive();
  /// How it ended, once every message of it was received; nothing while it runs.
  [[nodiscard]] const std::optional<ExitState>& ended() const { return exit_; }
  /// SIGKILL to it and to every program that it had started.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Bytes of memory that it holds by itself.
  [[nodiscard]] std::uint64_t memory() const;
  /// Seconds that it has computed by itself since it last began a step, without the programs that it started.
  [[nodiscard]] double processor_seconds() const;
  /// What this process computes from here on is a step of its own, whatever thread does it. Nothing in a process that
  /// isn't such a child.
  static void begin_step();

 private:
  /// Processor time at which the child's last step began, in nanoseconds; both write and read it.
  using Mark = std::atomic<std::int64_t>;
  struct Unmap {
    void operator()(Mark* mark) const;
  };
  using SharedMark = std::unique_ptr<Mark, Unmap>;
  Forked(pid_t pid, Descriptor orders, Descriptor news, SharedMark step);
  void reap();

  pid_t pid_;
  Descriptor orders_, news_;
  SharedMark step_;
  std::string bytes_;  ///< of a message that has not come whole
  std::optional<ExitState> exit_;
};

}  // namespace assay::core
