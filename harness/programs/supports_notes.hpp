#pragma once

#include <string>
#include <vector>

#include "converters/converter.hpp"

namespace assay::programs {

/// The words in a converter's `supports` that protocol 1 does not have, a sentence for each with the nearest that it
/// has: nothing will be asked of the converter with them. Words of formats that Assay does not judge yet are known.
[[nodiscard]] std::vector<std::string> supports_notes(const converters::Description& description);

}  // namespace assay::programs
