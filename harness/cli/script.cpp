#include "harness/cli/script.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/process.hpp"

namespace assay::cli {

int run_script(const std::vector<std::string>& words) {
  std::fflush(nullptr);
  const core::Result<core::ExitState> end = core::run_attached(words);
  if (!end) {
    report_error(end.error());
    return kExitOwnFault;
  }
  if (!end->code) {
    print(stderr, "assay: {} was ended by {}\n", words.front(), core::exit_text(*end));
  }
  return end->code.value_or(kExitOwnFault);
}

}  // namespace assay::cli
