#include "harness/judge/precision.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/text.hpp"

namespace assay::judge {
namespace {

constexpr auto kWords = std::to_array<std::pair<Precision, std::string_view>>({
    {Precision::int8, "int8"},
    {Precision::int8_allowed, "int8?"},
    {Precision::fp16, "fp16"},
    {Precision::fp32, "fp32"},
});

}  // namespace

core::Result<Precision> precision_of(std::string_view word) {
  std::vector<std::string> choices;
  for (const auto& [precision, text] : kWords) {
    if (text == word) return precision;
    choices.emplace_back(text);
  }
  return core::Error{.kind = core::ErrorKind::invalid_data,
                     .message = fmt::format("no precision is called \"{}\"; nearest: {}", word,
                                            core::join(core::nearest(word, choices), ", ")),
                     .node = {},
                     .op = {},
                     .tensor = {}};
}

std::string_view precision_word(Precision precision) {
  for (const auto& [each, text] : kWords) {
    if (each == precision) return text;
  }
  return "";
}

bool is_float(Precision precision) { return precision == Precision::fp16 || precision == Precision::fp32; }

bool ran_in_int8(const converters::NodePrecision& reported) { return reported.got == precision_word(Precision::int8); }

}  // namespace assay::judge
