#pragma once

#include <string>
#include <vector>

#include "harness/corpus/suite.hpp"
#include "harness/judge/verdict.hpp"
#include "results/store.hpp"

namespace assay::run {

/// Whether `entry` speaks of that converter at that version.
[[nodiscard]] bool concerns(const corpus::ExpectedFailure& entry, const std::string& converter,
                            const std::string& version);

/// A suite's expected failures, strict (DESIGN section 3): the failure must be at that stage and facet, for that
/// reason, and not worse than twice the recorded margin.
class ExpectedFailures {
 public:
  explicit ExpectedFailures(std::vector<corpus::ExpectedFailure> entries);

  /// Turns the verdict of an expected failure into `xfail`, `xfail-changed` or `xpass`. crash, timeout and oom are only
  /// covered by an entry whose reason matches them, and our own faults never.
  void apply(const results::JobKey& key, judge::Judgement& judgement);

  /// Entries that no verdict met, or that have expired: one line each.
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  struct Entry {
    corpus::ExpectedFailure failure;
    bool used = false;
    bool expired = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace assay::run
