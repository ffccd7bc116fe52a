#pragma once

#include <string>

namespace assay::judge {

/// What a text has to hold so that the regular expression `pattern` is found in it, in words: `"stale"`, `one of "img",
/// "gain", and behind it "2"`. A pattern that is more than words, alternatives and gaps is shown as it is.
[[nodiscard]] std::string pattern_words(const std::string& pattern);

}  // namespace assay::judge
