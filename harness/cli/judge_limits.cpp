#include "harness/cli/judge_limits.hpp"

#include <fmt/format.h>

namespace assay::cli {

void add_judge_limits(Command command, JudgeLimitOptions& options) {
  command.add_option("--judge-timeout", options.timeout_s, "Seconds for judging one verdict; 0: ten times --timeout")
      .check(Check::non_negative);
  command
      .add_option("--judge-memory", options.memory_gib,
                  "GiB of memory for a process that judges; 0: four fifths of the machine's")
      .check(Check::non_negative);
}

std::string judge_limit_words(const JudgeLimitOptions& options) {
  std::string words;
  if (options.timeout_s != 0) words += fmt::format(" --judge-timeout {:g}", options.timeout_s);
  if (options.memory_gib != 0) words += fmt::format(" --judge-memory {:g}", options.memory_gib);
  return words;
}

void take_judge_limits(const JudgeLimitOptions& options, run::RunConfig& config) {
  config.judge_timeout_s = options.timeout_s;
  config.judge_memory_bytes = bytes_of_gib(options.memory_gib);
}

run::JudgeLimits judge_limits_of(const JudgeLimitOptions& options, double timeout_s) {
  run::RunConfig config;
  config.timeout_s = timeout_s;
  take_judge_limits(options, config);
  return run::judge_limits(config);
}

std::uint64_t bytes_of_gib(double gib) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return static_cast<std::uint64_t>(gib * kGib);
}

}  // namespace assay::cli
