// operator new of the programs that judge: no memory is an exception, which becomes the verdict `oom`, and no abort.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <vector>

namespace {

/// More than any address space has; not a constant, so that no compiler leaves the allocation out.
std::size_t too_much() {
  static volatile std::size_t bytes = std::size_t{1} << 60U;
  return bytes;
}
constexpr std::align_val_t kAlignment{256};

TEST(ThrowingNew, ThrowsWhereThereIsNoMemory) {
  EXPECT_THROW(::operator delete(::operator new(too_much())), std::bad_alloc);
  EXPECT_THROW(::operator delete[](::operator new[](too_much())), std::bad_alloc);
  EXPECT_THROW(::operator delete(::operator new(too_much(), kAlignment), kAlignment), std::bad_alloc);
  EXPECT_THROW(::operator delete[](::operator new[](too_much(), kAlignment), kAlignment), std::bad_alloc);
}

/// Takes all memory there is, then throws until the exceptions' own reserve is empty too.
[[noreturn]] void throw_without_any_memory() {
  constexpr std::size_t kMany = 100'000;
  std::vector<std::exception_ptr> kept;
  kept.reserve(kMany);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_AS, &none);
  for (std::size_t bytes = std::size_t{1} << 28U; bytes >= 8; bytes /= 2) {
    while (std::malloc(bytes) != nullptr) {
    }
  }
  while (kept.size() < kMany) {
    try {
      ::operator delete(::operator new(too_much()));
    } catch (...) {
      kept.push_back(std::current_exception());
    }
  }
  std::_Exit(0);
}

TEST(ThrowingNewDeathTest, SaysSoWhereNotEvenTheExceptionFindsMemory) {
  EXPECT_EXIT(throw_without_any_memory(), testing::ExitedWithCode(137), "out of memory");
}

TEST(ThrowingNew, AsksTheHandlerFirst) {
  static int asked = 0;
  std::set_new_handler([] {
    if (++asked == 2) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(::operator delete(::operator new(too_much())), std::bad_alloc);
  EXPECT_EQ(asked, 2);
}

TEST(ThrowingNew, GivesMemoryThatDeleteTakesBack) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20U}) {
    void* plain = ::operator new(bytes);
    EXPECT_NE(plain, nullptr);
    ::operator delete(plain);
    void* aligned = ::operator new(bytes, kAlignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % static_cast<std::size_t>(kAlignment), 0U);
    ::operator delete(aligned, kAlignment);
  }
}

}  // namespace
