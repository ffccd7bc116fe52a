#include "harness/core/keeper.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>

#include "harness/core/descriptor.hpp"

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

/// The keeper, from its fork to its end. Other threads of the parent may have held any lock: only calls that need none.
[[noreturn]] void keep(Notes& all, int alive) {
  ::setsid();  // no signal from a terminal
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) ::signal(number, SIG_IGN);
  if (::dup2(alive, STDIN_FILENO) < 0) ::_exit(1);
  // Whoever waits for the end of our streams is not to wait for the keeper.
  ::syscall(SYS_close_range, STDIN_FILENO + 1, ~0U, 0);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
  }
  kill_noted(all, 0);
  ::_exit(0);
}

void start() {
  void* memory = ::mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Pipe alive;
  if (memory == MAP_FAILED || !open_pipe(alive)) return;
  auto* all = new (memory) Notes();
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) {
    alive.write.reset();
    keep(*all, alive.read.get());
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
