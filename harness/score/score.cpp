#include "harness/score/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "converters/veiled.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/parallel.hpp"

namespace assay::score {
namespace {

using converters::ArtifactKind;
using converters::Outcome;
using Fault = converters::Switchable::Fault;

bool same_status(const judge::Evidence& a, const judge::Evidence& b) {
  return a.conversion.outcome == b.conversion.outcome &&
         std::ranges::equal(
             a.executions, b.executions, {}, [](const judge::Execution& each) { return each.reply.outcome; },
             [](const judge::Execution& each) { return each.reply.outcome; });
}

bool same_shapes(const judge::Evidence& a, const judge::Evidence& b) {
  return std::ranges::equal(a.executions, b.executions, [](const judge::Execution& x, const judge::Execution& y) {
    return std::ranges::equal(x.outputs, y.outputs, [](const auto& one, const auto& other) {
      return one.first == other.first && one.second.type() == other.second.type() &&
             one.second.shape() == other.second.shape();
    });
  });
}

/// Bit for bit, as far as a judge of `kind` looks. Outputs are compared once for all kinds.
bool same_to(ArtifactKind kind, const run::Trial& a, const run::Trial& b, bool outputs_same) {
  if (!outputs_same) return false;
  if (kind == ArtifactKind::qdq) return run::same_conversion(a.evidence, b.evidence);
  const auto visible = [&](const run::Trial& trial) {
    converters::ConvertReply reply = trial.evidence.conversion;
    converters::veil(reply, kind);
    return reply;
  };
  const converters::ConvertReply x = visible(a), y = visible(b);
  return x.outcome == y.outcome && x.node == y.node && x.op == y.op && x.reason == y.reason && x.tensors == y.tensors &&
         x.precision == y.precision && x.diagnostics == y.diagnostics &&
         (x.outcome == Outcome::ok || run::same_conversion(a.evidence, b.evidence));
}

/// What one case says about every fault.
struct CaseScore {
  std::map<ArtifactKind, std::map<std::string, FaultScore>> kinds;
  std::map<std::string, FaultEffect> effects;
  std::vector<FalseAlarm> false_alarms;
  std::size_t trials = 0, judgements = 0;
};

/// One case under every fault; everything that the faults have in common is done once.
class CaseTrials {
 public:
  CaseTrials(const ScoreConfig& config, const std::vector<Fault>& faults, const run::RunItem& item,
             std::size_t planned_verdicts)
      : config_(config), faults_(faults), item_(item), planned_verdicts_(planned_verdicts) {}

  core::Result<CaseScore> run() {
    core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(item_.test_case);
    if (!bench) return bench.error();
    bench_ = *std::move(bench);
    if (core::Status status = run_unfaulted(); !status) return status.error();
    for (const Fault& fault : faults_) {
      if (core::Status status = run_fault(fault); !status) return status.error();
    }
    return std::move(out_);
  }

 private:
  struct Unfaulted {
    run::Trial trial;
    std::optional<double> sqnr_db;
  };

  judge::Judgement judged(const std::string& fault, converters::Converter& converter, run::Trial& trial,
                          ArtifactKind kind) {
    ++out_.judgements;
    const bool in_full = config_.on_judged != nullptr;
    const auto judge_it = [&] {
      const judge::Depth depth = in_full ? judge::Depth::full : judge::Depth::gate;
      return kind == ArtifactKind::qdq ? bench_->judge(trial, planned_verdicts_, depth)
                                       : bench_->judge(run::seen_as(trial, kind), planned_verdicts_, depth);
    };
    if (in_full) bench_->relate(converter, trial);
    judge::Judgement judgement = judge_it();
    if (judgement.gate != judge::Gate::red && !trial.related) {
      bench_->relate(converter, trial);  // further conversions, which a gate that is red already needs not
      if (trial.settled || !trial.relations.findings.empty()) judgement = judge_it();
    }
    if (in_full) config_.on_judged({item_, fault, kind, trial, judgement});
    return judgement;
  }

  core::Status run_unfaulted() {
    auto plain = make_({}, "");
    if (!plain) return plain.error();
    auto description = (*plain)->describe();
    if (!description) return description.error();
    description_ = *std::move(description);
    for (const corpus::OptionSet& set : item_.option_sets) {
      Unfaulted unfaulted{bench_->attempt(**plain, description_, set.options_json), {}};
      for (const ArtifactKind kind : config_.kinds) {
        const judge::Judgement judgement = judged("", **plain, unfaulted.trial, kind);
        if (!unfaulted.sqnr_db) unfaulted.sqnr_db = judgement.sqnr_db;
        if (judgement.gate == judge::Gate::red) {
          out_.false_alarms.push_back(
              {fmt::format("none:{}", core::word_of(kind)), item_.test_case.name, set.label, judgement.reason});
        }
      }
      unfaulted_.push_back(std::move(unfaulted));
    }
    return core::success();
  }

  core::Status run_fault(const Fault& fault) {
    auto faulted = make_({fault.name}, "");
    if (!faulted) return faulted.error();
    for (std::size_t i = 0; i < unfaulted_.size(); ++i) {
      const Unfaulted& unfaulted = unfaulted_[i];
      run::Trial trial = bench_->attempt(**faulted, description_, item_.option_sets[i].options_json,
                                         fault.changes_execution ? nullptr : &unfaulted.trial);
      ++out_.trials;
      const bool done = !trial.repeated && compare(fault.name, **faulted, unfaulted, trial);
      run::CaseBench::discard(trial);
      if (done) break;
    }
    return core::success();
  }

  /// True where nothing more is to be found out about this fault.
  bool compare(const std::string& fault, converters::Converter& converter, const Unfaulted& unfaulted,
               run::Trial& trial) {
    const judge::Evidence &before = unfaulted.trial.evidence, &after = trial.evidence;
    const bool outputs_same = run::same_outputs(before, after);
    bool all_killed = true, measured = false;
    for (const ArtifactKind kind : config_.kinds) {
      if (!config_.on_judged && out_.kinds[kind][fault].killed()) continue;
      if (!same_to(kind, unfaulted.trial, trial, outputs_same)) {
        out_.kinds[kind][fault].concerned.insert(item_.test_case.name);
        const judge::Judgement judgement = judged(fault, converter, trial, kind);
        if (judgement.gate == judge::Gate::red) out_.kinds[kind][fault].kills.insert(item_.test_case.name);
        if (!measured) measure(fault, unfaulted, trial, judgement.sqnr_db);
        measured = true;
      }
      all_killed = all_killed && out_.kinds[kind][fault].killed();
    }
    return all_killed && !config_.on_judged;
  }

  void measure(const std::string& fault, const Unfaulted& unfaulted, const run::Trial& trial,
               const std::optional<double>& sqnr_db) {
    FaultEffect& effect = out_.effects[fault];
    if (!same_status(unfaulted.trial.evidence, trial.evidence)) {
      effect.changes_status = true;
    } else if (!same_shapes(unfaulted.trial.evidence, trial.evidence)) {
      effect.changes_shape = true;
    } else if (unfaulted.sqnr_db && sqnr_db) {
      effect.losses_db.push_back(*unfaulted.sqnr_db - *sqnr_db);
    }
  }

  const ScoreConfig& config_;
  const std::vector<Fault>& faults_;
  const run::RunItem& item_;
  std::size_t planned_verdicts_;
  converters::Switchable::Make make_ = config_.converter.maker();
  std::unique_ptr<run::CaseBench> bench_;
  converters::Description description_;
  std::vector<Unfaulted> unfaulted_;
  CaseScore out_;
};

void merge(const run::RunItem& item, CaseScore&& part, ScoreReport& report) {
  bool kills_any = false;
  for (auto& [kind, faults] : part.kinds) {
    for (auto& [fault, score] : faults) {
      kills_any = kills_any || score.killed();
      report.kinds[kind][fault].concerned.merge(score.concerned);
      report.kinds[kind][fault].kills.merge(score.kills);
    }
  }
  if (!kills_any) report.idle_cases.push_back(item.test_case.name);
  for (auto& [fault, effect] : part.effects) {
    FaultEffect& all = report.effects[fault];
    std::ranges::copy(effect.losses_db, std::back_inserter(all.losses_db));
    all.changes_status |= effect.changes_status;
    all.changes_shape |= effect.changes_shape;
  }
  std::ranges::move(part.false_alarms, std::back_inserter(report.false_alarms));
  report.trials += part.trials;
  report.judgements += part.judgements;
}

core::Result<std::vector<Fault>> wanted_faults(const ScoreConfig& config) {
  const std::vector<std::string>& names = config.faults;
  std::vector<Fault> faults;
  for (const Fault& fault : config.converter.faults) {
    if (names.empty() || std::ranges::find(names, fault.name) != names.end()) faults.push_back(fault);
  }
  for (const std::string& name : names) {
    // An unknown name gets the converter's own message, with the nearest ones.
    if (const auto known = config.converter.maker()({name}, ""); !known) return known.error();
  }
  return faults;
}

/// Claims that a case's `kills` makes and does not keep, for the faults and at the kind that were scored.
void check_claims(const ScoreConfig& config, ScoreReport& report) {
  const auto& scores = report.kinds[config.kinds.front()];
  std::set<std::string> claimed;
  for (const run::RunItem& item : config.items) {
    for (const std::string& fault : item.test_case.kills) {
      claimed.insert(fault);
      const auto scored = scores.find(fault);
      const bool asked = std::ranges::find(report.faults, fault) != report.faults.end();
      const bool unknown = config.faults.empty() && !asked;
      const bool kept = scored != scores.end() && scored->second.kills.contains(item.test_case.name);
      if (unknown || (asked && !kept)) report.broken_claims.emplace_back(item.test_case.name, fault);
    }
  }
  std::ranges::copy_if(report.faults, std::back_inserter(report.unclaimed),
                       [&](const std::string& fault) { return !claimed.contains(fault); });
}

}  // namespace

std::optional<double> FaultEffect::median() const {
  if (losses_db.empty()) return std::nullopt;
  std::vector<double> sorted = losses_db;
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> FaultEffect::largest() const {
  if (losses_db.empty()) return std::nullopt;
  return std::ranges::max(losses_db);
}

std::vector<std::string> ScoreReport::survivors(ArtifactKind kind) const {
  std::vector<std::string> names;
  const auto scores = kinds.find(kind);
  for (const std::string& fault : faults) {
    if (scores == kinds.end()) break;
    const auto score = scores->second.find(fault);
    if (score != scores->second.end() && score->second.observable() && !score->second.killed()) names.push_back(fault);
  }
  return names;
}

core::Result<ScoreReport> score(const ScoreConfig& config) {
  if (config.items.empty() || config.kinds.empty())
    return core::usage_error("nothing is selected: no case, or no artifact kind");
  const core::Result<std::vector<Fault>> faults = wanted_faults(config);
  if (!faults) return faults.error();
  std::size_t planned = 0;
  for (const run::RunItem& item : config.items) planned += item.option_sets.size();
  // As in a run: an upper estimate of the elements judged.
  std::vector<std::optional<core::Result<CaseScore>>> parts(config.items.size());
  run::for_each_index(config.items.size(), config.jobs, [&](std::size_t index) {
    parts[index] = CaseTrials(config, *faults, config.items[index], planned).run();
  });
  ScoreReport report;
  for (const Fault& fault : *faults) report.faults.push_back(fault.name);
  for (const ArtifactKind kind : config.kinds) report.kinds[kind];
  for (std::size_t index = 0; index < parts.size(); ++index) {
    core::Result<CaseScore>& part = *parts[index];
    if (!part) return part.error().within(config.items[index].test_case.name);
    merge(config.items[index], *std::move(part), report);
  }
  check_claims(config, report);
  return report;
}

}  // namespace assay::score
