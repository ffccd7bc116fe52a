// operator new of the programs that judge. mimalloc's build in C can't throw: its own operator new aborts where there
// is no memory, and what should be the verdict `oom` is a crash of the whole process. This one asks malloc, mimalloc's
// or the C library's, and throws as the standard wants it. operator delete is that one's free.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace {

/// This thread asked for memory in vain.
thread_local bool ran_out = false;
std::terminate_handler handler_before = nullptr;

/// Where not even the exception finds memory, the runtime ends the program and says nothing of that.
void end_without_memory() {
  if (ran_out && std::current_exception() == nullptr) {
    constexpr std::string_view kWords = "out of memory\n";
    constexpr int kOutOfMemoryStatus = 137;  // as the worker's, which the client reads as `oom`
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    std::_Exit(kOutOfMemoryStatus);
  }
  handler_before();
}

/// When memory runs out for the first time, which may be before any constructor of the program: in those of a library.
void watch_terminate() {
  static constinit std::atomic_flag watched;
  if (!watched.test_and_set()) handler_before = std::set_terminate(&end_without_memory);
}

/// Calls `get` until it gives something or the new-handler has given up.
template <typename Get>
void* or_throw(Get get) {
  while (true) {
    if (void* memory = get()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) {
      ran_out = true;
      watch_terminate();
      throw std::bad_alloc();
    }
    handler();
  }
}

void* plain(std::size_t size) {
  return or_throw([size] { return std::malloc(size == 0 ? 1 : size); });
}

void* aligned(std::size_t size, std::align_val_t alignment) {
  return or_throw([size, alignment]() -> void* {
    void* memory = nullptr;
    return ::posix_memalign(&memory, static_cast<std::size_t>(alignment), size == 0 ? 1 : size) == 0 ? memory : nullptr;
  });
}

}  // namespace

void* operator new(std::size_t size) { return plain(size); }
void* operator new[](std::size_t size) { return plain(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return aligned(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return aligned(size, alignment); }
