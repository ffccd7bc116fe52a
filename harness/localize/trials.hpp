#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/localize/criterion.hpp"

namespace assay::localize {

/// Makes a candidate, or nothing where the change can't be made.
using Proposal = std::function<std::optional<Candidate>()>;

struct Found {
  std::size_t index;  ///< of the proposal
  Candidate candidate;
};

/// Tries candidates, several at a time, each once: what is known of a candidate is written to a file, from which a
/// reduction that was killed goes on.
class Trials {
 public:
  /// One criterion for each thread. `ledger` is read where it is there, and appended to; empty: nothing is kept.
  Trials(std::vector<Criterion> workers, std::filesystem::path ledger,
         std::shared_ptr<Refusals> refusals = std::make_shared<Refusals>());

  /// The first of `proposals`, in their order, that holds: whatever the number of threads, the same one.
  [[nodiscard]] std::optional<Found> first(const std::vector<Proposal>& proposals);
  [[nodiscard]] bool holds(const Candidate& candidate);

  /// Why candidates weren't taken, or couldn't be made.
  [[nodiscard]] Refusals& refusals() { return *refusals_; }

  /// How often a criterion was asked, and how often the ledger knew.
  [[nodiscard]] std::size_t checks() const { return checks_; }
  [[nodiscard]] std::size_t known() const { return known_; }

 private:
  [[nodiscard]] bool ask(const Criterion& worker, const Candidate& candidate);

  std::vector<Criterion> workers_;
  std::filesystem::path ledger_;
  std::shared_ptr<Refusals> refusals_;
  std::mutex mutex_;  ///< of the members below
  std::map<std::string, bool> answers_;
  std::size_t checks_ = 0, known_ = 0;
};

/// `candidate` without what nothing reads, with the outputs declared as the operators' rules give them; nothing where
/// the model breaks a rule.
[[nodiscard]] std::optional<Candidate> tidied(Candidate candidate);

}  // namespace assay::localize
