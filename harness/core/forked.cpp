#include "harness/core/forked.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "harness/core/files.hpp"
#include "harness/core/keeper.hpp"

namespace assay::core {
namespace {

using Length = std::uint64_t;
/// More than any message; a child whose memory is damaged may claim anything.
constexpr Length kLongestMessage = Length{1} << 32U;
/// As many as the system allows without asking: fewer turns for long messages.
constexpr int kPipeBytes = 1 << 20;

/// The parent's ends of all children, which a further child is not to hold open.
std::vector<int>& parents_ends() {
  static std::vector<int> ends;
  return ends;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write_without_sigpipe(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

bool read_all(int fd, char* bytes, std::size_t wanted) {
  while (wanted > 0) {
    const ssize_t count = ::read(fd, bytes, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    wanted -= static_cast<std::size_t>(count);
  }
  return true;
}

std::string with_length(std::string_view message) {
  const Length length = message.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes.append(message);
}

/// Where a child marks its steps, or null.
std::atomic<std::int64_t>*& step_of_this_process() {
  static std::atomic<std::int64_t>* mark = nullptr;
  return mark;
}

/// What sets a child apart from its parent.
void become_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has died before that
  ::setpgid(0, 0);                        // signals of a terminal are the parent's to answer
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::signal(number, SIG_DFL);
  // Where the system lacks memory, the child is to die and not the parent, which only waits.
  const Descriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.open()) (void)write_all(file.get(), "700");
}

}  // namespace

std::optional<std::string> Forked::Line::receive() {
  const std::lock_guard lock(receiving_);
  Length length = 0;
  if (!read_all(orders_.get(), reinterpret_cast<char*>(&length), sizeof length)) return std::nullopt;
  std::string message(length, '\0');
  if (!read_all(orders_.get(), message.data(), message.size())) return std::nullopt;
  return message;
}

void Forked::Line::send(std::string_view message) {
  const std::lock_guard lock(sending_);
  (void)write_all(news_.get(), with_length(message));  // nobody reads: the parent has died, and so do we
}

void Forked::Unmap::operator()(Mark* mark) const { ::munmap(mark, sizeof(Mark)); }

Forked::Forked(pid_t pid, Descriptor orders, Descriptor news, SharedMark step)
    : pid_(pid), orders_(std::move(orders)), news_(std::move(news)), step_(std::move(step)) {}

Forked::Forked(Forked&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      orders_(std::move(other.orders_)),
      news_(std::move(other.news_)),
      step_(std::move(other.step_)),
      bytes_(std::move(other.bytes_)),
      exit_(other.exit_) {}

Forked& Forked::operator=(Forked&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(orders_, other.orders_);
  std::swap(news_, other.news_);
  std::swap(step_, other.step_);
  std::swap(bytes_, other.bytes_);
  std::swap(exit_, other.exit_);
  return *this;
}

Forked::~Forked() {
  if (pid_ > 0) kill();
}

Result<Forked> Forked::start(const std::function<void(Line& line)>& work) {
  start_keeper();
  Pipe orders;
  Pipe news;
  if (!open_pipe(orders) || !open_pipe(news)) {
    return io_error(fmt::format("can't open pipes for a process: {}", std::generic_category().message(errno)));
  }
  void* memory = ::mmap(nullptr, sizeof(Mark), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("no memory is left for a process");
  SharedMark step(new (memory) Mark(0));
  ::fcntl(news.read.get(), F_SETPIPE_SZ, kPipeBytes);
  std::fflush(nullptr);  // else the child has it too
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return io_error(fmt::format("can't fork a process: {}", std::generic_category().message(errno)));
  if (pid == 0) {
    become_child(parent);
    for (const int end : std::exchange(parents_ends(), {})) ::close(end);
    orders.write.reset();
    news.read.reset();
    step_of_this_process() = step.get();
    Line line(std::move(orders.read), std::move(news.write));
    work(line);
    remove_process_folder();
    std::fflush(nullptr);
    ::_exit(0);
  }
  make_nonblocking(news.read);
  parents_ends().push_back(orders.write.get());
  parents_ends().push_back(news.read.get());
  return Forked(pid, std::move(orders.write), std::move(news.read), std::move(step));
}

bool Forked::send(std::string_view message) { return orders_.open() && write_all(orders_.get(), with_length(message)); }

std::vector<std::string> Forked::receive() {
  std::vector<std::string> messages;
  std::array<char, 1 << 16> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
  bool ends = false;
  while (news_.open()) {
    const ssize_t count = ::read(news_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    ends = count == 0 || (count < 0 && errno != EAGAIN);
    if (count <= 0) break;
    bytes_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::size_t done = 0;
  Length length = 0;
  while (bytes_.size() - done >= sizeof length) {
    std::memcpy(&length, bytes_.data() + done, sizeof length);
    if (length > kLongestMessage) {
      kill();
      break;
    }
    if (bytes_.size() - done - sizeof length < length) break;
    messages.push_back(bytes_.substr(done + sizeof length, length));
    done += sizeof length + length;
  }
  bytes_.erase(0, done);
  if (ends) reap();
  return messages;
}

void Forked::reap() {
  if (exit_) return;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_ = ExitState{};
  if (WIFEXITED(status)) {
    exit_->code = WEXITSTATUS(status);
  } else {
    exit_->signal = WTERMSIG(status);
  }
  kill_groups_of(pid_);
  for (const Descriptor* end : {&orders_, &news_}) std::erase(parents_ends(), end->get());
  orders_.reset();
  news_.reset();
}

void Forked::kill() {
  if (!exit_) ::kill(pid_, SIGKILL);
  reap();
}

std::uint64_t Forked::memory() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  std::uint64_t all = 0, resident = 0, shared = 0;
  file >> all >> resident >> shared;
  return (resident - std::min(shared, resident)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double Forked::processor_seconds() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  std::string text, word;
  std::getline(file, text);
  const std::size_t name = text.rfind(')');  // which may hold anything
  if (name == std::string::npos) return 0;
  std::istringstream fields(text.substr(name + 1));
  constexpr int kFromStateToFaults = 11;  // proc(5): state, then ten numbers, then utime and stime
  for (int i = 0; i < kFromStateToFaults; ++i) fields >> word;
  double user = 0, system = 0;
  fields >> user >> system;
  constexpr double kNanosecond = 1e-9;
  const double before = kNanosecond * static_cast<double>(step_->load());
  return std::max(0.0, (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK)) - before);
}

void Forked::begin_step() {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  timespec used{};
  if (step_of_this_process() == nullptr || ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return;
  step_of_this_process()->store(used.tv_sec * kNanoseconds + used.tv_nsec);
}

}  // namespace assay::core
