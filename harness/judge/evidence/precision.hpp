#pragma once

#include <string_view>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/core/words.hpp"

namespace assay::judge {

/// In which type a node is asked to run.
enum class Precision { int8, int8_allowed, fp16, fp32 };
constexpr auto words(Precision /*of*/) {
  using enum Precision;
  return core::word_table<Precision>({{int8, "int8"}, {int8_allowed, "int8?"}, {fp16, "fp16"}, {fp32, "fp32"}});
}

/// What a case or an option calls it: "int8", "int8?", "fp16", "fp32".
/// Errors   invalid_data, naming the word and the nearest ones.
[[nodiscard]] core::Result<Precision> precision_of(std::string_view word);
[[nodiscard]] bool is_float(Precision precision);

/// Whether a converter's precision map says INT8; its other words are float types.
[[nodiscard]] bool ran_in_int8(const converters::NodePrecision& reported);

}  // namespace assay::judge
