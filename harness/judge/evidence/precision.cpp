#include "harness/judge/evidence/precision.hpp"

#include <fmt/format.h>

#include "harness/core/text.hpp"

namespace assay::judge {

core::Result<Precision> precision_of(std::string_view word) {
  if (const auto precision = core::find_word<Precision>(word)) return *precision;
  return core::Error{.kind = core::ErrorKind::invalid_data,
                     .message = fmt::format("no precision is called \"{}\"; nearest: {}", word,
                                            core::join(core::nearest(word, core::all_words<Precision>()), ", ")),
                     .node = {},
                     .op = {},
                     .tensor = {}};
}

bool is_float(Precision precision) { return precision == Precision::fp16 || precision == Precision::fp32; }

bool ran_in_int8(const converters::NodePrecision& reported) { return reported.got == core::word_of(Precision::int8); }

}  // namespace assay::judge
