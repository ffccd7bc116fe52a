#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converters/switchable.hpp"
#include "harness/run/runner.hpp"

namespace assay::score {

/// One judgement of a trial, for whoever wants more of it than counts (bench/policies.cpp).
struct Judged {
  const run::RunItem& item;
  std::string_view subject;  ///< the fault or the correct variant; "" for the plain converter
  converters::ArtifactKind kind;
  const run::Trial& trial;
  const judge::Judgement& judgement;
};
/// Called from several threads, for one case always from the same one.
using OnJudged = std::function<void(const Judged&)>;

/// How Assay measures itself: a converter's faults, switched on one by one, against the cases they concern.
struct ScoreConfig {
  converters::Switchable converter;
  std::vector<run::RunItem> items;
  std::vector<std::string> faults;  ///< by name; empty: the whole table
  std::vector<converters::ArtifactKind> kinds = {converters::ArtifactKind::qdq};
  int jobs = 0;             ///< threads; 0: one per core
  OnJudged on_judged = {};  ///< sees every judgement, then in full depth and of every option set
};

/// One fault at one artifact kind. A case stands in both sets once, whatever the number of its option sets.
struct FaultScore {
  std::set<std::string> concerned;  ///< cases where somebody who sees that kind can see a difference, bit for bit
  std::set<std::string> kills;      ///< cases that are red with the fault on
  [[nodiscard]] bool observable() const { return !concerned.empty(); }
  [[nodiscard]] bool killed() const { return !kills.empty(); }
};

struct FaultEffect {
  std::vector<double> losses_db;  ///< of the outputs' SQNR, one for each trial that has both
  bool changes_status = false;    ///< somewhere the conversion or an execution ends otherwise
  bool changes_shape = false;     ///< somewhere outputs have other names, types or shapes
  /// Middle and largest of the losses; nothing where no output could be compared.
  [[nodiscard]] std::optional<double> median() const;
  [[nodiscard]] std::optional<double> largest() const;
};

/// A verdict that should not be red.
struct FalseAlarm {
  std::string variant, case_name, options, reason;
};

struct ScoreReport {
  std::vector<std::string> faults;                                              ///< in the table's order
  std::map<converters::ArtifactKind, std::map<std::string, FaultScore>> kinds;  ///< kind → fault → score
  std::map<std::string, FaultEffect> effects;                                   ///< by fault
  std::vector<FalseAlarm> false_alarms;                                         ///< red without any fault
  std::vector<std::pair<std::string, std::string>> broken_claims;  ///< case and the fault that it does not kill
  std::vector<std::string> unclaimed;                              ///< faults that no case's `kills` names
  std::vector<std::string> idle_cases;                             ///< that kill nothing
  std::size_t trials = 0, judgements = 0;

  [[nodiscard]] std::vector<std::string> survivors(converters::ArtifactKind kind) const;
};

/// Converts, executes and judges every case under every fault, in this process. What a fault leaves bit for bit as it
/// was is not judged; a case is done with a fault at its first red option set. Deterministic.
/// Errors   usage, for an empty selection or an unknown fault.
[[nodiscard]] core::Result<ScoreReport> score(const ScoreConfig& config);

}  // namespace assay::score
