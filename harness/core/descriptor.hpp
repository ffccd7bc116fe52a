#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace assay::core {

/// A file descriptor with one owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// A pipe whose ends are closed on exec and lie above 2, so that moving them onto the child's streams never collides.
[[nodiscard]] bool open_pipe(Pipe& pipe);

void make_nonblocking(const Descriptor& fd);

/// A write to a pipe that nobody reads any more fails with EPIPE and raises nothing: SIGPIPE is blocked in this thread
/// and taken back if this write raised it.
[[nodiscard]] ssize_t write_without_sigpipe(int fd, const char* bytes, std::size_t count);

}  // namespace assay::core
