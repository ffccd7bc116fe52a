#pragma once

#include <vector>

#include "converters/embedded/embedded.hpp"
#include "converters/embedded/machine.hpp"

namespace assay::embedded {

/// A row of the table of faults (faults.cpp), with how it is built in.
struct Fault {
  FaultInfo info;
  void (*apply)(Machine& machine);
};
[[nodiscard]] const std::vector<Fault>& faults();

/// A row of the table of correct variants (variants.cpp).
struct Variant {
  VariantInfo info;
  void (*apply)(engine::ArithmeticPolicy& policy);
};
[[nodiscard]] const std::vector<Variant>& variants();

}  // namespace assay::embedded
