#pragma once

#include <string>

namespace assay::results {

/// What a run's numbers may depend on.
struct Machine {
  std::string cpu;       ///< "AMD EPYC 7763 64-Core Processor"
  std::string features;  ///< integer and vector instructions, "avx2,avx512_vnni": executors choose kernels by them
  int cores = 0;
  std::string system;  ///< "Linux 6.1.0 x86_64"
};
[[nodiscard]] Machine this_machine();

}  // namespace assay::results
