#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/common.hpp"
#include "harness/run/lanes.hpp"
#include "harness/run/runner.hpp"

namespace assay::cli {

/// What a command line says of the limits of judging; 0: the usual one.
struct JudgeLimitOptions {
  double timeout_s = 0;
  double memory_gib = 0;
};
void add_judge_limits(Command command, JudgeLimitOptions& options);
/// The same as a command line says them, each with a blank before it; what is usual is left out.
[[nodiscard]] std::string judge_limit_words(const JudgeLimitOptions& options);
/// Of one verdict whose converter has `timeout_s` for an answer.
[[nodiscard]] run::JudgeLimits judge_limits_of(const JudgeLimitOptions& options, double timeout_s);
void take_judge_limits(const JudgeLimitOptions& options, run::RunConfig& config);

[[nodiscard]] std::uint64_t bytes_of_gib(double gib);

}  // namespace assay::cli
