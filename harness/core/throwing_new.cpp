// operator new for the programs that are linked with mimalloc. mimalloc's build in C can't throw: its own operator new
// aborts where there is no memory, and what should be the verdict `oom` is a crash of the whole process. This one asks
// mimalloc through malloc, and throws as the standard wants it. operator delete is mimalloc's, which is its free.
#include <cstdlib>
#include <new>

namespace {

/// Calls `get` until it gives something or the new-handler has given up.
template <typename Get>
void* or_throw(Get get) {
  while (true) {
    if (void* memory = get()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
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
