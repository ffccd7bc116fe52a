#pragma once

#include <optional>
#include <string>

#include "converters/converter.hpp"
#include "harness/corpus/case.hpp"

namespace assay::judge {

/// Why `test_case` under `options` lies outside what the converter declares in `supports`, or nothing: the case then
/// is `unsupported` without having been run. An operator whose refusal the case expects doesn't count; what it expects
/// of an operator's precision is said of its last step alone.
[[nodiscard]] std::optional<std::string> unsupported_reason(const converters::Description& converter,
                                                            const corpus::Case& test_case,
                                                            const converters::Options& options, bool last_step = true);

/// Whether the converter lists its operators, and `node`'s is none of them.
[[nodiscard]] bool lies_outside(const converters::Supports& supports, const model::Node& node);

}  // namespace assay::judge
