#pragma once

#include <string>

#include "harness/core/result.hpp"
#include "harness/report/html/report_data.hpp"
#include "results/store.hpp"

namespace assay::report {

/// All that the database holds as one HTML file that needs nothing else: no network, no other file, no program.
[[nodiscard]] core::Result<std::string> html_report(results::Store& store, const HtmlScope& scope);

}  // namespace assay::report
