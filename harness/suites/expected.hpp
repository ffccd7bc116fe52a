#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/corpus/suite.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "results/store.hpp"

namespace assay::suites {

/// Whether `entry` speaks of that converter at that version.
[[nodiscard]] bool concerns(const corpus::ExpectedFailure& entry, const std::string& converter,
                            const std::string& version);
/// Whether it speaks of verdicts of this machine: its patterns are of instructions ("avx512_vnni", "!amx_int8") and of
/// accelerators, whose blanks are underscores there ("NVIDIA_H100*").
[[nodiscard]] bool holds_on(const corpus::ExpectedFailure& entry, const results::Machine& machine);
/// Its last day is over (UTC).
[[nodiscard]] bool has_expired(const corpus::ExpectedFailure& entry);
/// Those of `entries` that a run can be held to: they speak of one of its converters at its version, where cases state
/// them of one of the planned cases of their family and, where the run is not `whole` (a shard, one option set, a
/// pattern), of one of the planned verdicts.
[[nodiscard]] std::vector<corpus::ExpectedFailure> of_a_run(std::vector<corpus::ExpectedFailure> entries,
                                                            std::span<const results::JobKey> planned, bool whole);

/// A suite's expected failures, strict (docs/cases.md): the failure must be at that stage and facet, for that
/// reason, and not worse than twice the recorded margin.
class ExpectedFailures {
 public:
  /// In a run that is not `whole`, such as a shard, what meets an entry elsewhere may be missing: a verdict that says
  /// nothing of it (unsupported) leaves it open. Entries that speak of another machine hold nothing.
  explicit ExpectedFailures(const std::vector<corpus::ExpectedFailure>& entries, bool whole = true);
  ExpectedFailures(std::vector<corpus::ExpectedFailure> entries, bool whole, const results::Machine& machine);

  /// Turns the verdict of an expected failure into `xfail`, `xfail-changed` or `xpass`. crash, timeout and oom are only
  /// covered by an entry whose reason matches them, and our own faults never. Returns the entry that the verdict was
  /// compared with, null where none speaks of it.
  const corpus::ExpectedFailure* apply(const results::JobKey& key, judge::Judgement& judgement);

  /// The numbers of the entries that a verdict has met, and the same told by a copy of this object in another process.
  [[nodiscard]] std::vector<std::size_t> met() const;
  void meet(std::span<const std::size_t> entries);

  /// Counts a verdict that was recorded before, in a run that is resumed.
  void recall(const results::JobKey& key, std::string_view verdict);

  /// Entries that no verdict met, or that have expired: one line each.
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  struct Entry {
    corpus::ExpectedFailure failure;
    bool used = false;
    bool expired = false;
  };
  std::vector<Entry> entries_;
  bool whole_;
};

}  // namespace assay::suites
