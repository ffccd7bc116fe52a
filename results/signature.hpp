#pragma once

#include <string>
#include <string_view>

namespace assay::results {

/// What groups failures of one kind: verdict, stage, facet, operator and the message without numbers and paths.
/// Numbers and lists of numbers become "#", words with a slash "<path>". Of a message of several lines the first and
/// the last count: between them stands what differs from case to case.
[[nodiscard]] std::string signature(std::string_view verdict, std::string_view stage, std::string_view facet,
                                    std::string_view op, std::string_view message);

}  // namespace assay::results
