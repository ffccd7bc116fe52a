#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace assay::reference {

using Complex = std::complex<double>;

/// The discrete Fourier transform of x: y[k] = Σ_n x[n] exp(-2πj k n / N) for the first `count` k; inverse: +2πj and
/// divided by N. Summed as it stands, N steps for each k.
[[nodiscard]] std::vector<Complex> fourier(const std::vector<Complex>& x, std::int64_t count, bool inverse);

}  // namespace assay::reference
