#include "harness/core/keeper.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include "harness/core/descriptor.hpp"
#include "harness/core/owner.hpp"

namespace assay::core {
namespace {

/// Of all converters of all forked children at a time.
constexpr std::size_t kMostGroups = 4096;

struct Note {
  std::atomic<pid_t> group;  ///< 0: free
  std::atomic<pid_t> owner;
};
using Notes = std::array<Note, kMostGroups>;

/// Shared by this process, its forked children and the keeper; null where there is no keeper.
std::atomic<Notes*> notes{nullptr};

void kill_noted(Notes& all, pid_t owner) {
  for (Note& note : all) {
    const pid_t group = note.group;
    if (group <= 0 || (owner != 0 && note.owner != owner)) continue;
    ::kill(-group, SIGKILL);
    note.group = 0;
  }
}

constexpr const char* kMarkName = "ASSAY_KEPT";
/// This program's own, made with the keeper.
std::string& own_mark() {
  static std::string text;
  return text;
}

/// Whether the process whose folder of /proc is called `name` was started with `text` in its environment.
bool is_marked(int processes, const char* name, std::string_view text) {
  std::array<char, 64> path{};
  const std::string_view folder(name), file_name("/environ");
  if (folder.size() + file_name.size() >= path.size()) return false;
  std::ranges::copy(file_name, std::ranges::copy(folder, path.begin()).out);
  const Descriptor file(::openat(processes, path.data(), O_RDONLY | O_CLOEXEC));
  static std::array<char, std::size_t{1} << 20U> bytes;
  std::size_t size = 0;
  while (file.open() && size < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  return std::string_view(bytes.data(), size).find(text) != std::string_view::npos;
}

/// Kills every process that is marked with `text`; false where there was none.
bool kill_marked(std::string_view text) {
  const Descriptor processes(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(std::uint64_t) std::array<char, 16384> entries;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled
  bool any = false;
  for (long size = 1; size > 0;) {
    size = ::syscall(SYS_getdents64, processes.get(), entries.data(), entries.size());
    for (long at = 0; at < size;) {
      // struct linux_dirent64: inode and offset of 8 bytes each, length of 2, type of 1, name.
      constexpr std::size_t kLengthAt = 16, kNameAt = 19;
      const char* entry = entries.data() + at;
      std::uint16_t length = 0;
      std::memcpy(&length, entry + kLengthAt, sizeof length);
      at += length;
      const pid_t pid = std::atoi(entry + kNameAt);  // NOLINT(cert-err34-c): 0 for what is no number
      if (pid <= 1 || !is_marked(processes.get(), entry + kNameAt, text)) continue;
      ::kill(pid, SIGKILL);
      any = true;
    }
  }
  return any;
}

/// The keeper, from its fork to its end. Other threads of the parent may have held any lock: only calls that need none.
[[noreturn]] void keep(Notes& all, int alive, std::string_view text) {
  ::setsid();  // no signal from a terminal
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) ::signal(number, SIG_IGN);
  if (::dup2(alive, STDIN_FILENO) < 0) ::_exit(1);
  // Whoever waits for the end of our streams is not to wait for the keeper.
  ::syscall(SYS_close_range, STDIN_FILENO + 1, ~0U, 0);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
  }
  kill_noted(all, 0);
  constexpr int kMostRounds = 20;  // of processes that start others meanwhile
  for (int round = 0; round < kMostRounds && kill_marked(text); ++round) {
  }
  ::_exit(0);
}

void start() {
  void* memory = ::mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Pipe alive;
  if (memory == MAP_FAILED || !open_pipe(alive)) return;
  auto* all = new (memory) Notes();
  own_mark() = process_tag();
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) {
    alive.write.reset();
    keep(*all, alive.read.get(), own_mark());
  }
  // Open until the last of us has ended, which is what the keeper waits for.
  static Descriptor sign_of_life;
  sign_of_life = std::move(alive.write);
  notes = all;
}

}  // namespace

void start_keeper() {
  static std::once_flag once;
  std::call_once(once, start);
}

void mark(std::map<std::string, std::string>& environment) {
  start_keeper();
  if (notes.load() == nullptr) return;
  const char* outer = std::getenv(kMarkName);  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
  environment[kMarkName] = (outer == nullptr ? "" : std::string(outer) + ",") + own_mark();
}

int note_group(pid_t group) {
  start_keeper();
  Notes* all = notes;
  if (all == nullptr) return -1;
  for (std::size_t index = 0; index < all->size(); ++index) {
    pid_t nobody = 0;
    if (!(*all)[index].group.compare_exchange_strong(nobody, -1)) continue;  // -1: taken, not a group yet
    (*all)[index].owner = ::getpid();
    (*all)[index].group = group;
    return static_cast<int>(index);
  }
  return -1;
}

void forget_group(int note) {
  Notes* all = notes;
  if (all != nullptr && note >= 0) (*all)[static_cast<std::size_t>(note)].group = 0;
}

void kill_groups_of(pid_t owner) {
  Notes* all = notes;
  if (all != nullptr) kill_noted(*all, owner);
}

}  // namespace assay::core
