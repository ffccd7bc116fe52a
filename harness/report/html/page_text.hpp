#pragma once

#include <iterator>
#include <string>

namespace assay::report {

/// The files of page/ as they were when the program was built. The frame has marks in double braces: {{policy}},
/// {{style}}, {{script}}, {{data}}.
[[nodiscard]] std::string page_frame();
[[nodiscard]] std::string page_style();
[[nodiscard]] std::string page_script();

}  // namespace assay::report
