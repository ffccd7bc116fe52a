#pragma once

#include <string>
#include <vector>

namespace assay::cli {

/// Runs a helper program with our standard streams and waits for it. Returns its exit code, or 3 when it can't start
/// or is killed.
int run_script(const std::vector<std::string>& words);

}  // namespace assay::cli
