#pragma once

#include <optional>
#include <string>

#include "converters/converter.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::programs {

/// The verdict `crash`, `timeout` or `oom` for a converter that ended so in a request that is not the judged conversion
/// itself: a twin's, a trace's, one that makes a cache. Nothing for the outcomes that an answer has.
[[nodiscard]] std::optional<judge::Judgement> fallen(converters::Outcome outcome, judge::Stage stage,
                                                     std::string reason);

}  // namespace assay::programs
