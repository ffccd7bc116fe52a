#pragma once

#include <string_view>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::judge {

/// In which type a node is asked to run.
enum class Precision { int8, int8_allowed, fp16, fp32 };

/// What a case or an option calls it: "int8", "int8?", "fp16", "fp32".
/// Errors   invalid_data, naming the word and the nearest ones.
[[nodiscard]] core::Result<Precision> precision_of(std::string_view word);
[[nodiscard]] std::string_view precision_word(Precision precision);
[[nodiscard]] bool is_float(Precision precision);

/// Whether a converter's precision map says INT8; its other words are float types.
[[nodiscard]] bool ran_in_int8(const converters::NodePrecision& reported);

}  // namespace assay::judge
