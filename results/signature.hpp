#pragma once

#include <string>
#include <string_view>

namespace assay::results {

/// A line of a message in which numbers and lists of numbers became "#", and words with a slash "<path>".
[[nodiscard]] std::string without_numbers_and_paths(std::string_view line);

/// What groups failures of one kind: verdict, stage, facet, operator and the message without numbers and paths.
/// Of a message of several lines the first and
/// the last count: between them stands what differs from case to case.
[[nodiscard]] std::string signature(std::string_view verdict, std::string_view stage, std::string_view facet,
                                    std::string_view op, std::string_view message);

}  // namespace assay::results
