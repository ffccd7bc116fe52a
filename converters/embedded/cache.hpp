#pragma once

#include <map>
#include <string>

#include "converters/calibration_table.hpp"
#include "converters/embedded/state.hpp"

namespace assay::embedded {

[[nodiscard]] Fingerprint fingerprint_of(const State& state);

struct Cache {
  std::optional<Fingerprint> fingerprint;  ///< a TensorRT cache has none
  std::map<std::string, Range> ranges;
};

/// JSON, with sorted keys: the same cache gives the same bytes.
[[nodiscard]] std::string cache_to_json(const Cache& cache);

/// TensorRT's text form: a header line, then "tensor: hex" with the float32 bits of range / 127.
[[nodiscard]] std::string cache_to_tensorrt(const Cache& cache);

/// Reads any calibration table (converters/calibration_table.hpp). Errors   invalid_data, naming the line or key.
[[nodiscard]] Result<Cache> parse_cache(const std::string& text);

/// Errors   invalid_data, saying what differs, when `cache` was made from something else.
[[nodiscard]] Status check_fresh(const Cache& cache, const Fingerprint& now);

}  // namespace assay::embedded
