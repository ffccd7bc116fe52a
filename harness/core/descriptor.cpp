#include "harness/core/descriptor.hpp"

#include <fcntl.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace assay::core {

bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.read = Descriptor(ends[0]);
  pipe.write = Descriptor(ends[1]);
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->get() > STDERR_FILENO) continue;
    *end = Descriptor(::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!end->open()) return false;
  }
  return true;
}

void make_nonblocking(const Descriptor& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

ssize_t write_without_sigpipe(int fd, const char* bytes, std::size_t count) {
  sigset_t only_pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&only_pipe);
  sigaddset(&only_pipe, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &only_pipe, &before);
  const ssize_t written = ::write(fd, bytes, count);
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec now{};
    while (sigtimedwait(&only_pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace assay::core
