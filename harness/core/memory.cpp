#include "harness/core/memory.hpp"

#include <cstdlib>  // defines __GLIBC__ where it applies

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace assay::core {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKeptBytes = 64 << 20;        // at the heap's end
  constexpr int kOwnMappingBytes = 32 << 20;  // glibc takes no more
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kOwnMappingBytes);
#endif
}

}  // namespace assay::core
