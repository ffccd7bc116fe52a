#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/fuzz/find.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::fuzz {

/// What a hunt looks for and how long.
struct HuntOptions {
  std::uint64_t seed = 1;
  std::optional<std::string> options_json;  ///< see Plan
  std::uint64_t first = 0;                  ///< index of the first sample
  std::optional<std::uint64_t> graphs;      ///< so many samples; else as many as `minutes` allow
  double minutes = 1;
  std::size_t stop_after = 0;  ///< so many signatures are enough; 0: none is
  int jobs = 0;                ///< 0: one per core
  double timeout_s = 60;       ///< for one answer of the converter
  double reduce_s = 120;       ///< for one reduction: then the smallest so far has to do
  std::function<int()> stops;  ///< how often it was asked to end; what is found by then is kept, the rest not reduced
};

/// How a hunt stands.
struct Tally {
  std::uint64_t samples = 0;
  std::map<std::string, std::uint64_t> verdicts;     ///< by name, `discarded` (reference not finite) and `invalid` too
  std::map<std::string, std::uint64_t> unsupported;  ///< those by what the converter doesn't do, graphs' names left out
  double seconds = 0;
};

struct Hunted {
  std::string converter, version;
  Tally tally;                       ///< without the reductions
  std::vector<Find> finds;           ///< by first index, reduced
  std::vector<std::string> invalid;  ///< samples that break a rule of ONNX: the generator's fault
};

/// What is told while a hunt is on, from any thread, one at a time.
struct Listener {
  std::function<void(const Tally& tally, std::size_t signatures)> on_sample;
  std::function<void(const Find& find)> on_find;  ///< its signature is new
  std::function<void(const Find& find)> on_reduced;
};

/// Judges samples until it is enough and reduces one of each signature that is red.
/// Errors   the converter can't be asked; usage where it has no operator that is drawn.
[[nodiscard]] core::Result<Hunted> hunt(const programs::ConverterSpec& converter, const HuntOptions& options,
                                        const Listener& listener);

}  // namespace assay::fuzz
