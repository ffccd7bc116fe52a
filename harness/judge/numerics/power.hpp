#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/tensor.hpp"

namespace assay::judge {

[[nodiscard]] double decibel(double ratio);
/// decibel()'s inverse.
[[nodiscard]] double ratio(double db);

/// Of float32's last places (here four), relative to the value.
constexpr double kFloat32Error = 0x1p-22;

/// Noise of the power `predicted` and of last places between two roundings, which no prediction has and which count
/// where the roundings themselves are that small; a scale's own last place shifts all elements alike, so that
/// amplitudes add up and not powers. `error` is the size of the last places, relative to the signal.
[[nodiscard]] double with_last_places(double predicted, double signal, double error);

/// Predicted noise as large as sides at ties may make it, `sides` being how far those of one draw move the prediction:
/// in amplitude, since both come of the same roundings.
[[nodiscard]] double moved_by(double predicted, double sides);

/// Signal and noise of one channel.
struct Power {
  double signal = 0, actual = 0, predicted = 0;
  double largest = 0;            ///< magnitude of the signal
  double error = kFloat32Error;  ///< what is stored leaves, relative to the signal
  std::int64_t elements = 0;
  [[nodiscard]] bool comparable() const { return signal > 0 && actual > 0 && predicted > 0; }
  /// Actual minus predicted SQNR.
  [[nodiscard]] double deviation_db() const { return decibel(with_last_places(predicted, signal, error) / actual); }
};

/// Powers by index along `axis`; one channel where it is -1.
[[nodiscard]] std::vector<Power> powers(const core::Tensor& expected, const core::Tensor& actual,
                                        const core::Tensor& predicted, std::int64_t axis, double error);
[[nodiscard]] Power total(const std::vector<Power>& channels);
/// The channel of at least `fewest` elements that deviates the most; none where none is comparable.
[[nodiscard]] std::optional<std::size_t> worst_channel(const std::vector<Power>& channels, std::int64_t fewest);
/// moved_by() of each channel: the actual noise in `sides` is how far it moves.
[[nodiscard]] std::vector<Power> moved_by(std::vector<Power> channels, const std::vector<Power>& sides);

}  // namespace assay::judge
