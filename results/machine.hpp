#pragma once

#include <string>
#include <string_view>

namespace assay::results {

/// What a run's numbers may depend on.
struct Machine {
  std::string cpu;       ///< "AMD EPYC 7763 64-Core Processor"
  std::string features;  ///< integer and vector instructions, "avx2,avx512_vnni": executors choose kernels by them
  int cores = 0;
  std::string system;        ///< "Linux 6.1.0 x86_64"
  std::string accelerators;  ///< "NVIDIA H200, driver 580.159.03"; different ones are joined with "; "
};
/// What `nvidia-smi --query-gpu=name,driver_version --format=csv,noheader` prints, as Machine::accelerators: equal
/// devices once, "2 x NVIDIA H200, driver 580.159.03".
[[nodiscard]] std::string accelerators_text(std::string_view csv);
[[nodiscard]] Machine this_machine();

}  // namespace assay::results
