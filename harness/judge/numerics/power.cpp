#include "harness/judge/numerics/power.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace assay::judge {
namespace {

constexpr double kDecibel = 10;

}  // namespace

using core::Tensor;

double decibel(double ratio) { return kDecibel * std::log10(ratio); }

double ratio(double db) { return std::pow(10, db / kDecibel); }

double with_last_places(double predicted, double signal, double error) {
  const double amplitude = std::sqrt(predicted) + error * std::sqrt(signal);
  return amplitude * amplitude;
}

double moved_by(double predicted, double sides) {
  constexpr double kDraws = 2;  // the prediction and the engine are a draw each
  const double amplitude = std::sqrt(predicted) + kDraws * std::sqrt(sides);
  return amplitude * amplitude;
}

std::vector<Power> powers(const Tensor& expected, const Tensor& actual, const Tensor& predicted, std::int64_t axis,
                          double error) {
  const core::Shape& shape = expected.shape();
  std::size_t inner = 1, extent = 1;
  for (std::size_t i = 0; axis >= 0 && i < shape.size(); ++i) {
    const auto size = static_cast<std::size_t>(shape[i]);
    if (static_cast<std::int64_t>(i) == axis) extent = size;
    if (static_cast<std::int64_t>(i) > axis) inner *= size;
  }
  std::vector<Power> all(extent);
  const std::span<const double> want = expected.reals(), got = actual.reals(), guess = predicted.reals();
  for (std::size_t i = 0; i < want.size(); ++i) {
    Power& power = all[i / inner % extent];
    power.error = error;
    power.signal += want[i] * want[i];
    power.largest = std::max(power.largest, std::fabs(want[i]));
    power.actual += (got[i] - want[i]) * (got[i] - want[i]);
    power.predicted += (guess[i] - want[i]) * (guess[i] - want[i]);
    ++power.elements;
  }
  return all;
}

Power total(const std::vector<Power>& channels) {
  Power sum;
  for (const Power& power : channels) {
    sum.error = power.error;
    sum.signal += power.signal;
    sum.largest = std::max(sum.largest, power.largest);
    sum.actual += power.actual;
    sum.predicted += power.predicted;
    sum.elements += power.elements;
  }
  return sum;
}

std::optional<std::size_t> worst_channel(const std::vector<Power>& channels, std::int64_t fewest) {
  std::optional<std::size_t> worst;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (!channels[c].comparable() || channels[c].elements < fewest) continue;
    if (!worst || channels[c].deviation_db() < channels[*worst].deviation_db()) worst = c;
  }
  return worst;
}

std::vector<Power> moved_by(std::vector<Power> channels, const std::vector<Power>& sides) {
  for (std::size_t c = 0; c < channels.size(); ++c)
    channels[c].predicted = moved_by(channels[c].predicted, sides[c].actual);
  return channels;
}

}  // namespace assay::judge
