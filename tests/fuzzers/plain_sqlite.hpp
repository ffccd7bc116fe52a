#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t size);  // NOLINT(*-identifier-naming,bugprone-reserved-identifier): glibc's
void* __libc_realloc(void* memory, std::size_t size);  // NOLINT(*-identifier-naming,bugprone-reserved-identifier)
void __libc_free(void* memory);                        // NOLINT(*-identifier-naming,bugprone-reserved-identifier)
}

namespace assay::fuzzers {

/// SQLite without what costs time in a single thread: locks and the counting of memory. To be made before SQLite is
/// used for the first time; afterwards it changes nothing.
class PlainSqlite {
 public:
  /// Plain memory is the C library's and not the sanitizer's: half of the time, and no fault of memory that SQLite
  /// itself allocates is found.
  enum class Memory { sanitized, plain };

  explicit PlainSqlite(Memory from) {
    static const sqlite3_mem_methods plain{&get, &release, &resize, &size_of, &rounded, &begin, &end, nullptr};
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);                               // NOLINT(*-vararg): SQLite's form
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);                               // NOLINT(*-vararg)
    if (from == Memory::plain) sqlite3_config(SQLITE_CONFIG_MALLOC, &plain);  // NOLINT(*-vararg)
  }

 private:
  static constexpr int kHead = 16;  // in front of each piece: its size, and the alignment kept

  static void* behind_head(void* piece, int size) {
    if (piece == nullptr) return nullptr;
    std::memcpy(piece, &size, sizeof size);
    return static_cast<char*>(piece) + kHead;
  }
  static void* head_of(void* memory) { return static_cast<char*>(memory) - kHead; }
  static void* get(int size) { return behind_head(__libc_malloc(static_cast<std::size_t>(size) + kHead), size); }
  static void* resize(void* memory, int size) {
    return behind_head(__libc_realloc(head_of(memory), static_cast<std::size_t>(size) + kHead), size);
  }
  static void release(void* memory) { __libc_free(head_of(memory)); }
  static int size_of(void* memory) {
    int size = 0;
    if (memory != nullptr) std::memcpy(&size, head_of(memory), sizeof size);
    return size;
  }
  static int rounded(int size) { return (size + 7) & ~7; }
  static int begin(void* /*own*/) { return SQLITE_OK; }
  static void end(void* /*own*/) {}
};

}  // namespace assay::fuzzers
