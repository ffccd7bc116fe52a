#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "harness/corpus/drawn.hpp"

namespace assay::corpus {
namespace {

using core::Rng;

constexpr double kRate = 16000;
constexpr std::int64_t kFrame = 160;  // samples of 10 ms

struct Formant {
  double frequency = 0, width = 0, gain = 0;
};

/// A vowel, a hiss or a pause.
struct Sound {
  bool voiced = false;
  double loudness = 0;  ///< 0 of a pause
  double pitch_from = 0, pitch_to = 0;
  std::array<Formant, 3> formants{};
  std::int64_t samples = 0;
};

/// Resonances as rational functions, so that only sines and logarithms depend on the machine's mathematics library.
double envelope(const Sound& sound, double frequency) {
  double sum = 0;
  for (const Formant& formant : sound.formants) {
    const double off = (frequency - formant.frequency) / formant.width;
    sum += formant.gain / (1 + off * off);
  }
  return sum;
}

/// One sound after another, as a speaker of one voice makes them.
class Speaker {
 public:
  explicit Speaker(Rng& rng) : rng_(rng), pitch_(rng.uniform(90, 230)) { next(); }

  [[nodiscard]] const Sound& sound() const { return sound_; }
  /// From 0 at the beginning of the sound to 1 at its end.
  [[nodiscard]] double progress() const { return static_cast<double>(at_) / static_cast<double>(sound_.samples); }
  [[nodiscard]] double pitch() const { return sound_.pitch_from + (sound_.pitch_to - sound_.pitch_from) * progress(); }
  /// Swells and fades within a tenth of the sound.
  [[nodiscard]] double loudness() const {
    const double p = progress();
    return sound_.loudness * std::min({1.0, 10 * p, 10 * (1 - p)});
  }
  void advance(std::int64_t samples) {
    at_ += samples;
    while (at_ >= sound_.samples) {
      at_ -= sound_.samples;
      next();
    }
  }

 private:
  void next() {
    const double kind = rng_.uniform();
    const bool pause = kind >= 0.85;
    sound_.voiced = kind < 0.6;
    sound_.loudness = pause ? 0 : rng_.uniform(0.15, 1) * (sound_.voiced ? 1 : 0.3);
    sound_.pitch_from = pitch_ * rng_.uniform(0.85, 1.2);
    sound_.pitch_to = pitch_ * rng_.uniform(0.8, 1.2);
    if (sound_.voiced) {
      sound_.formants = {{{rng_.uniform(280, 850), 90, 1},
                          {rng_.uniform(900, 2300), 120, 0.5},
                          {rng_.uniform(2400, 3300), 180, 0.25}}};
    } else {
      sound_.formants = {{{rng_.uniform(2500, 4500), 900, 0.5}, {rng_.uniform(4500, 7000), 1500, 1}, {500, 400, 0.05}}};
    }
    sound_.samples = std::llround(kRate * (pause ? rng_.uniform(0.03, 0.4) : rng_.uniform(0.05, 0.25)));
  }

  Rng& rng_;
  double pitch_;
  Sound sound_;
  std::int64_t at_ = 0;
};

double voiced_sample(const Sound& sound, double phase, double pitch) {
  double sum = 0;
  for (int harmonic = 1; harmonic * pitch < 5000; ++harmonic) {
    sum += envelope(sound, harmonic * pitch) * std::sin(harmonic * phase);
  }
  return 0.5 * sum;
}

}  // namespace

std::vector<double> draw_sound(const core::Shape& shape, Rng& rng) {
  std::vector<double> out(static_cast<std::size_t>(core::element_count(shape)));
  Speaker speaker(rng);
  speaker.advance(rng.integer(0, 4000));
  double phase = 0;
  double before = 0;
  for (double& value : out) {
    const double noise = rng.normal();
    const double pitch = speaker.pitch();
    phase = std::fmod(phase + 2 * std::numbers::pi * pitch / kRate, 2 * std::numbers::pi);
    // A hiss is noise without its low frequencies.
    const double source =
        speaker.sound().voiced ? voiced_sample(speaker.sound(), phase, pitch) : 0.4 * (noise - before);
    before = noise;
    const double sample = speaker.loudness() * source + 0.001 * rng.normal();
    value = std::clamp(std::nearbyint(sample * 32767), -32768.0, 32767.0) / 32768;
    speaker.advance(1);
  }
  return out;
}

std::vector<double> draw_spectrum(const core::Shape& shape, Rng& rng) {
  std::vector<double> out(static_cast<std::size_t>(core::element_count(shape)));
  const std::int64_t bins = shape.back();
  Speaker speaker(rng);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto bin = static_cast<std::int64_t>(i) % bins;
    if (bin == 0 && i > 0) speaker.advance(kFrame);
    const double frequency = kRate / 2 * static_cast<double>(bin + 1) / static_cast<double>(bins);
    const double pitch = speaker.pitch();
    const double off = (frequency - std::nearbyint(frequency / pitch) * pitch) / 25;
    const double comb = speaker.sound().voiced ? 0.02 + 1 / (1 + off * off) : 1;
    const double amplitude = speaker.loudness() * envelope(speaker.sound(), frequency);
    const double power = amplitude * amplitude * comb * rng.uniform(0.3, 1) + 1e-8 * rng.uniform(0.1, 1);
    const double level = std::clamp(1 + std::log10(power) / 8, 0.0, 1.0);
    out[i] = std::nearbyint(level * 65536) / 65536;
  }
  return out;
}

}  // namespace assay::corpus
