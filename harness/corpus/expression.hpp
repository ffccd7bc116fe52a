#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/core/result.hpp"

namespace assay::corpus {

/// Values of the matrix keys for one expanded case.
using Bindings = std::map<std::string, nlohmann::ordered_json>;

/// `value` with every "$name" in its strings (and object keys) replaced.
///
/// A string that is one expression as a whole becomes its value: "$cout/$groups" an integer, "$pads" whatever the
/// matrix holds. Inside other text the longest expression without blanks is replaced: "float[2,$cin*2,7] x".
/// Operators are + - * / // % and parentheses; / is exact (5/2 is 2.5), // rounds down. "$$" is a dollar sign,
/// "${name}" ends a name early. Errors   invalid_case for an unknown name, listing the nearest, and for a division by
/// zero.
[[nodiscard]] core::Result<nlohmann::ordered_json> substitute(const nlohmann::ordered_json& value,
                                                              const Bindings& bindings);

/// A matrix value as it stands in texts: 64, 1.5, true, Relu, [1,2].
[[nodiscard]] std::string value_text(const nlohmann::ordered_json& value);

}  // namespace assay::corpus
