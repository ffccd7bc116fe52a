#pragma once

#include <functional>

namespace assay::cli {

/// From now on SIGTERM and an interrupt ask a run to end instead of ending the program; a second interrupt kills.
/// Returns how often that was asked, for RunConfig::stops.
[[nodiscard]] std::function<int()> stop_on_signal();

}  // namespace assay::cli
