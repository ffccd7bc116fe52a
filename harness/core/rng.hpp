#pragma once

#include <cstdint>
#include <string_view>

namespace assay::core {

/// A small deterministic generator (splitmix64): the same seed gives the same values on every machine.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  /// A generator whose stream depends on `seed` and `label` (a tensor name, a data set …).
  Rng(std::uint64_t seed, std::string_view label);

  std::uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Approximately normal (sum of twelve uniforms, |x| <= 6): exact arithmetic only, so bit-identical everywhere.
  double normal();
  /// Uniform integer in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high);

 private:
  std::uint64_t state_;
};

}  // namespace assay::core
