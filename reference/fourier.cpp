#include "reference/fourier.hpp"

#include <cmath>
#include <numbers>

namespace assay::reference {

std::vector<Complex> fourier(const std::vector<Complex>& x, std::int64_t count, bool inverse) {
  const auto length = static_cast<std::int64_t>(x.size());
  // k n counts modulo N only, which keeps the angles small and exact.
  std::vector<Complex> turns;
  for (std::int64_t i = 0; i < length; ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
    turns.emplace_back(std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle));
  }
  std::vector<Complex> y;
  for (std::int64_t k = 0; k < count; ++k) {
    Complex sum = 0.0;
    for (std::int64_t n = 0; n < length; ++n) {
      sum += x[static_cast<std::size_t>(n)] * turns[static_cast<std::size_t>(k * n % length)];
    }
    y.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return y;
}

}  // namespace assay::reference
