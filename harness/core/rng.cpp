#include "harness/core/rng.hpp"

namespace assay::core {

Rng::Rng(std::uint64_t seed, std::string_view label) : state_(seed) {
  constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325U;
  constexpr std::uint64_t kFnvPrime = 0x100000001b3U;
  std::uint64_t hash = kFnvOffset;
  for (const char c : label) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  }
  state_ ^= hash;
  next();
}

std::uint64_t Rng::next() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

double Rng::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Rng::normal() {
  constexpr int kTerms = 12;  // the sum of twelve uniforms has variance 1
  double sum = 0;
  for (int i = 0; i < kTerms; ++i) {
    sum += uniform();
  }
  return sum - kTerms / 2.0;
}

std::int64_t Rng::integer(std::int64_t low, std::int64_t high) {
  const auto extent = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(extent == 0 ? next() : next() % extent);
}

}  // namespace assay::core
