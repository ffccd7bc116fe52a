#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/common.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/result.hpp"
#include "harness/run/runner.hpp"

namespace assay::cli {

/// What decides the verdicts of a run: which cases, by whom, and how they are judged. `run` is asked for it by its
/// command line, and so is `plan`, which writes it down for `work`.
struct RunRequest {
  std::vector<std::string> words;
  ConverterOptions converters;
  std::vector<std::string> executors;
  std::string options;
  Narrowing narrowing;
  double timeout_s = 60;
  double memory_gib = 0;
  JudgeLimitOptions judging;
  bool metamorphic = false;
  bool require_judged = false;
  bool keep_detail = false;
};

/// The options that others of a command exclude.
struct RunRequestOptions {
  Option executors, metamorphic;
};
RunRequestOptions add_run_request(Command command, RunRequest& request);

/// The config of a run as `request` asks for it, without its database and all that says where and how fast. A suite's
/// converters that are commands become the request's own. Where that can't be done, prints why and returns the exit
/// code.
[[nodiscard]] std::optional<int> configure(RunRequest& request, run::RunConfig& config);

/// The limits on a converter and on judging, as a command line says them, each with a blank before it.
[[nodiscard]] std::string limit_words(const RunRequest& request);

/// The command line as a run's record keeps it: all that says what was done, nothing of where and how fast. `more`
/// stands behind the selection.
[[nodiscard]] std::string whole_command(const RunRequest& request, const std::string& selection,
                                        const std::string& more = "");

/// A request as one line of JSON, and back. Errors   invalid_data, for what is no request.
[[nodiscard]] std::string request_json(const RunRequest& request);
[[nodiscard]] core::Result<RunRequest> read_request(const std::string& json);

}  // namespace assay::cli
