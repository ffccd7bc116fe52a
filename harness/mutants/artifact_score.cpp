#include "harness/mutants/artifact_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "converters/veiled.hpp"
#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/evidence/verdict_margin.hpp"
#include "harness/mutants/artifact_bench.hpp"
#include "harness/mutants/artifact_graphs.hpp"
#include "harness/mutants/artifact_mutations.hpp"
#include "harness/mutants/artifact_visibility.hpp"
#include "harness/mutants/falsifications.hpp"
#include "harness/run/parallel.hpp"
#include "reference/executor.hpp"

namespace assay::mutants {
namespace {

using converters::ArtifactKind;
using converters::Outcome;
using core::TensorMap;

constexpr std::size_t kOneJudgement = 1;  // as in `assay check`

// What an output has lost

std::optional<double> sqnr_db(const TensorMap& expected, const TensorMap& actual, const std::string& name) {
  const auto want = expected.find(name), got = actual.find(name);
  const bool comparable = want != expected.end() && got != actual.end() && want->second.is_real() &&
                          got->second.is_real() && want->second.shape() == got->second.shape();
  if (!comparable) return std::nullopt;
  const judge::Deviation deviation = judge::measure_deviation(want->second, got->second);
  if (!(deviation.signal > 0)) return std::nullopt;
  const double db = deviation.sqnr_db();
  return std::isnan(db) ? -std::numeric_limits<double>::infinity() : db;  // NaN: no number is left
}

std::optional<double> metric(const judge::Judgement& judgement, std::string_view name, const std::string& tensor,
                             const std::string& data_set) {
  const auto found = std::ranges::find_if(judgement.metrics, [&](const judge::Metric& each) {
    return each.name == name && each.tensor == tensor && each.data_set == data_set;
  });
  return found == judgement.metrics.end() ? std::nullopt : std::optional(found->value);
}

bool escaped(Fate fate) { return fate == Fate::passed || fate == Fate::unjudged || fate == Fate::failed; }

struct Damage {
  bool shown = false;
  OutputQuality quality;  ///< of the output that shows it, or lost most
};

double lost_db(const OutputQuality& quality) {
  if (!quality.plain_db || !quality.changed_db) return 0;
  return *quality.plain_db - *quality.changed_db;
}

/// Of all outputs and data sets. An output of another name, type or shape shows by itself.
Damage damage(const Baseline& plain, const std::vector<TensorMap>& changed, const std::vector<TensorMap>& expected) {
  Damage worst;
  for (std::size_t i = 0; i < plain.outputs.size(); ++i) {
    for (const auto& [name, value] : plain.outputs[i]) {
      const auto other = changed[i].find(name);
      if (other == changed[i].end() || other->second.type() != value.type() || other->second.shape() != value.shape()) {
        return {true, {}};
      }
      if (other->second == value) continue;
      OutputQuality quality;
      quality.plain_db = sqnr_db(expected[i], plain.outputs[i], name);
      quality.changed_db = sqnr_db(expected[i], changed[i], name);
      quality.predicted_db = metric(plain.judgement, "predicted_sqnr_db", name, plain.data_sets[i]);
      quality.prediction_limit_db =
          metric(plain.judgement, "prediction_limit_db", name, plain.data_sets[i]).value_or(judge::kPredictionLossDb);
      quality.prediction_gates = metric(plain.judgement, "prediction_gates", name, plain.data_sets[i]).has_value();
      const bool shown = shows(quality);
      if (std::pair(shown, lost_db(quality)) > std::pair(worst.shown, lost_db(worst.quality))) {
        worst = {shown, quality};
      }
    }
  }
  return worst;
}

/// Everything about one artifact that its escapes have in common.
struct Named {
  std::string source, case_name, options;
};

class ArtifactTrials {
 public:
  ArtifactTrials(const ArtifactScoreConfig& config, Named named, ArtifactScoreReport& report)
      : config_(config), named_(std::move(named)), report_(report) {}

  /// Random defects in it, or every place falsified. Returns the number of places.
  std::size_t run(ArtifactBench& bench) {
    const Baseline* plain = bench.plain();
    if (plain == nullptr) {
      report_.left_out.push_back(trouble("no executor runs the plain artifact"));
      return 0;
    }
    ++report_.artifacts;
    const Fate fate = fate_of(judge::verdict_name(plain->judgement.verdict), plain->judgement.gate);
    graphs_ = artifact_graphs(bench.artifact(), bench.data().inputs.front());
    const std::size_t places = config_.falsify ? falsified_places(graphs_).size() : config_.mutants;
    if (fate == Fate::red) {
      report_.false_alarms.push_back(trouble(plain->judgement.reason));
    } else if (fate == Fate::failed) {
      report_.left_out.push_back(trouble(plain->judgement.reason));
    } else if (config_.falsify) {
      falsify(bench);
    } else {
      mutate(bench, *plain);
    }
    return places;
  }

  /// The same on what the converter's engine gave, for every kind of artifact. Numbered behind the `first` places.
  void falsify_behind(run::CaseBench& bench, const run::Trial& trial, std::size_t first) {
    const std::optional<Baseline> outputs = executed(trial);
    if (!outputs) return;
    std::vector<TensorMap> expected;
    for (const judge::Execution& execution : trial.evidence.executions) {
      core::Result<TensorMap> values = reference::execute(*trial.evidence.model, execution.inputs);
      if (!values) return;
      expected.push_back(*std::move(values));
    }
    std::size_t index = first;
    const ArtifactKind own = trial.evidence.converter.supports.artifact;
    for (const auto& [kind, word] : words(ArtifactKind())) {
      const bool hidden = kind < own;  // the converter shows less
      std::optional<Baseline> plain;
      for (const auto& [name, value] : outputs->outputs.front()) {
        for (const Falsification falsification : kFalsifications) {
          const std::size_t number = index++;
          if (hidden || !wanted(number)) continue;
          if (!plain) plain = judged_plain(bench, trial, *outputs, kind);
          if (fate_of(judge::verdict_name(plain->judgement.verdict), plain->judgement.gate) == Fate::red) continue;
          try_behind(bench, trial, *plain, expected, {kind, name, falsification, number});
        }
      }
    }
  }

 private:
  struct Behind {
    ArtifactKind kind;
    std::string output;
    Falsification falsification;
    std::size_t number;
  };

  [[nodiscard]] bool wanted(std::size_t index) const { return !config_.only || *config_.only == index; }

  [[nodiscard]] PlainTrouble trouble(std::string reason) const {
    return {named_.source, named_.case_name, named_.options, std::move(reason)};
  }

  [[nodiscard]] Escape escape(std::size_t index, std::string group, const Defect& defect) const {
    Escape out;
    out.source = named_.source;
    out.case_name = named_.case_name;
    out.options = named_.options;
    out.index = index;
    out.group = std::move(group);
    out.node = defect.node;
    out.op = defect.op;
    out.what = defect.what;
    return out;
  }

  static void note(Escape& out, const judge::Coverage& plain, const judge::Judgement& judgement,
                   const OutputQuality& quality) {
    out.covered = is_covered(plain, out.node, out.op);
    out.fate = fate_of(judge::verdict_name(judgement.verdict), judgement.gate);
    out.verdict = judge::verdict_name(judgement.verdict);
    out.reason = judgement.reason;
    out.plain_db = quality.plain_db;
    out.changed_db = quality.changed_db;
    out.predicted_db = quality.predicted_db;
    out.prediction_gates = quality.prediction_gates;
    out.margin = judge::verdict_margin(judgement);
  }

  void count(const Escape& out, const std::string& kind) {
    ++report_.groups[{named_.source, out.group}].counts[out.fate];
    if (!kind.empty()) ++report_.kinds[{named_.source, kind}].counts[out.fate];
    if (!out.executor.empty()) ++report_.executors[out.executor];
  }

  void list(ArtifactBench& bench, const model::Model& changed, Escape out) {
    if (!escaped(out.fate) && !config_.only) return;
    if (!config_.keep.empty()) {
      std::string name = fmt::format("{}_{}_{}_{}", out.source, out.case_name, out.options, out.index);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_'; }, '-');
      out.kept = config_.keep / name;
      if (const core::Status status = keep_artifact(bench, changed, out.kept); !status) {
        report_.left_out.push_back(trouble(status.error().message));
        out.kept.clear();
      }
    }
    report_.escapes.push_back(std::move(out));
  }

  /// Executes a changed artifact and judges it where `visible` says so.
  template <typename Visible>
  void try_changed(ArtifactBench& bench, const model::Model& changed, Escape out, const std::string& kind,
                   const Visible& visible) {
    std::optional<ArtifactBench::Executed> executed = bench.execute(changed);
    out.fate = Fate::not_run;
    if (executed) {
      out.executor = executed->plain->executor;
      const Damage harm = damage(*executed->plain, executed->outputs, bench.expected());
      if (visible(*executed, harm)) {
        const judge::Coverage& covered = executed->plain->judgement.coverage;
        note(out, covered, bench.judge(*executed), harm.quality);
      } else {
        out.fate = Fate::hidden;
        ArtifactBench::discard(*executed);
      }
    }
    count(out, kind);
    list(bench, changed, std::move(out));
  }

  void mutate(ArtifactBench& bench, const Baseline& plain) {
    const std::map<std::string, double> steps = output_steps(bench, plain);
    const std::string label = named_.source + "|" + named_.case_name + "|" + named_.options;
    const std::size_t count = config_.only ? *config_.only + 1 : config_.mutants;
    for (std::size_t index = 0; index < count; ++index) {
      if (!wanted(index)) continue;
      const std::optional<Mutant> mutant = make_mutant(bench.artifact(), graphs_, config_.seed, label, index);
      if (!mutant) continue;
      try_changed(bench, mutant->model, escape(index, std::string(mutant->kind), mutant->defect), "",
                  [&](const ArtifactBench::Executed& executed, const Damage&) {
                    return is_visible(executed.plain->outputs, executed.outputs, steps);
                  });
    }
  }

  void falsify(ArtifactBench& bench) {
    const std::vector<FalsifiedPlace> places = falsified_places(graphs_);
    for (std::size_t index = 0; index < places.size(); ++index) {
      if (!wanted(index)) continue;
      const model::Node& node = graphs_[places[index].graph].graph->nodes[places[index].node];
      const std::string kind(falsification_name(places[index].falsification));
      const Defect defect{node.name, node.op_type, fmt::format("\"{}\" {}", node.outputs[places[index].output], kind)};
      const std::string group = places[index].graph == 0 ? node.op_type : node.op_type + " (in a body)";
      try_changed(bench, falsified(bench.artifact(), graphs_, places[index]), escape(index, group, defect), kind,
                  [](const ArtifactBench::Executed&, const Damage& harm) { return harm.shown; });
    }
  }

  static std::optional<Baseline> executed(const run::Trial& trial) {
    const std::vector<judge::Execution>& executions = trial.evidence.executions;
    const bool all = !executions.empty() && std::ranges::all_of(executions, [](const judge::Execution& each) {
      return each.reply.outcome == Outcome::ok;
    });
    if (!all) return std::nullopt;
    Baseline outputs;
    for (const judge::Execution& execution : executions) {
      outputs.data_sets.push_back(execution.data_set);
      outputs.outputs.push_back(execution.outputs);
    }
    return outputs;
  }

  static run::Trial seen(const run::Trial& trial, ArtifactKind kind) {
    return kind == ArtifactKind::qdq ? trial : run::seen_as(trial, kind);
  }

  Baseline judged_plain(run::CaseBench& bench, const run::Trial& trial, Baseline plain, ArtifactKind kind) {
    plain.judgement = bench.judge(seen(trial, kind), kOneJudgement, judge::Depth::full);
    const Fate fate = fate_of(judge::verdict_name(plain.judgement.verdict), plain.judgement.gate);
    if (fate == Fate::red) {
      report_.false_alarms.push_back(
          trouble(fmt::format("behind the converter, {}: {}", core::word_of(kind), plain.judgement.reason)));
    }
    return plain;
  }

  /// The trial with one output changed after every execution. A trace still tells what the engine held.
  static std::optional<run::Trial> with_output(const run::Trial& trial, const Behind& where) {
    run::Trial changed = trial;
    for (judge::Execution& execution : changed.evidence.executions) {
      const auto value = execution.outputs.find(where.output);
      if (value == execution.outputs.end()) return std::nullopt;
      std::optional<core::Tensor> wrong = falsified(value->second, where.falsification);
      if (!wrong) return std::nullopt;
      value->second = *std::move(wrong);
    }
    if (trial.evidence.ask_trace) {
      changed.evidence.ask_trace = [&trial](const judge::Execution& asked) -> core::Result<TensorMap> {
        for (const judge::Execution& execution : trial.evidence.executions) {
          if (execution.data_set == asked.data_set) return trial.evidence.ask_trace(execution);
        }
        return TensorMap();
      };
    }
    return changed;
  }

  void try_behind(run::CaseBench& bench, const run::Trial& trial, const Baseline& plain,
                  const std::vector<TensorMap>& expected, const Behind& where) {
    std::optional<run::Trial> changed = with_output(trial, where);
    if (!changed) return;
    const std::string kind(falsification_name(where.falsification));
    const model::Wiring wiring(trial.evidence.model->graph);
    const auto producer = wiring.producer(where.output);
    Defect defect{"", "", fmt::format("output \"{}\" {}, as {}", where.output, kind, core::word_of(where.kind))};
    if (producer) {
      defect.node = trial.evidence.model->graph.nodes[*producer].name;
      defect.op = trial.evidence.model->graph.nodes[*producer].op_type;
    }
    Escape out = escape(where.number, fmt::format("behind the converter, {}", core::word_of(where.kind)), defect);
    const Damage harm = damage(plain, executed(*changed)->outputs, expected);
    out.fate = Fate::hidden;
    if (harm.shown) {
      note(out, plain.judgement.coverage, bench.judge(seen(*changed, where.kind), kOneJudgement, judge::Depth::gate),
           harm.quality);
    }
    count(out, kind);
    if (escaped(out.fate) || config_.only) report_.escapes.push_back(std::move(out));
  }

  const ArtifactScoreConfig& config_;
  Named named_;
  ArtifactScoreReport& report_;
  std::vector<ArtifactGraph> graphs_;
};

core::Result<std::vector<ArtifactExecutor>> executors_of(const ArtifactSource& source, ArtifactKind kind,
                                                         const std::shared_ptr<converters::Converter>& converter) {
  // Whoever has no more than the file has none of what its converter said about it.
  converters::Description description = source.description;
  if (kind == ArtifactKind::opaque) description.supports.reports.clear();
  std::vector<ArtifactExecutor> executors;
  if (description.supports.execute) executors.push_back({converter, description, source.name});
  core::Result<ArtifactExecutor> reference = reference_in_place_of(description);
  if (!reference) return reference.error();
  executors.push_back(*std::move(reference));
  return executors;
}

core::Status score_item(const ArtifactScoreConfig& config, const ArtifactSource& source, const run::RunItem& item,
                        ArtifactScoreReport& report) {
  if (item.test_case.model == nullptr) return core::success();
  core::Result<std::shared_ptr<converters::Converter>> converter = source.borrow();
  if (!converter) return converter.error();
  core::Result<std::vector<ArtifactExecutor>> executors = executors_of(source, config.kind, *converter);
  if (!executors) return executors.error();
  core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(item.test_case, item.data);
  if (!bench) return bench.error();
  for (const corpus::OptionSet& set : item.option_sets) {
    const ArtifactExecutor self{*converter, source.description, source.name};
    run::Trial trial = (*bench)->attempt(*self.converter, self.description, set.options_json);
    ArtifactTrials trials(config, {source.name, item.test_case.name, set.label}, report);
    core::Result<std::optional<ReadyArtifact>> ready = ready_artifact(**bench, item.test_case, trial);
    if (!ready) return ready.error();
    std::size_t places = 0;
    if (*ready) {
      core::Result<std::unique_ptr<ArtifactBench>> artifact =
          ArtifactBench::create(**std::move(ready), *executors, {}, config.kind);
      if (!artifact) return artifact.error();
      places = trials.run(**artifact);
    }
    if (config.falsify && !trial.settled) trials.falsify_behind(**bench, trial, places);
    run::CaseBench::discard(trial);
  }
  return core::success();
}

core::Status score_folder(const ArtifactScoreConfig& config, const ArtifactSource* source,
                          const std::filesystem::path& folder, ArtifactScoreReport& report) {
  const Named named{source == nullptr ? "" : source->name, folder.string(), ""};
  core::Result<ReadyArtifact> ready = load_ready_artifact(folder);
  if (!ready) {
    report.left_out.push_back({named.source, named.case_name, named.options, ready.error().message});
    return core::success();
  }
  core::Result<std::vector<ArtifactExecutor>> executors = std::vector<ArtifactExecutor>();
  if (source != nullptr) {
    core::Result<std::shared_ptr<converters::Converter>> converter = source->borrow();
    if (!converter) return converter.error();
    executors = executors_of(*source, config.kind, *converter);
  } else {
    converters::Description nobody;
    nobody.name = "artifact";
    core::Result<ArtifactExecutor> reference = reference_in_place_of(nobody);
    if (!reference) return reference.error();
    executors->push_back(*std::move(reference));
  }
  if (!executors) return executors.error();
  core::Result<std::unique_ptr<ArtifactBench>> bench = ArtifactBench::create(
      *std::move(ready), *std::move(executors), source == nullptr ? config.made_by : source->made_by, config.kind);
  if (!bench) return bench.error();
  ArtifactTrials(config, named, report).run(**bench);
  return core::success();
}

void merge(std::map<std::pair<std::string, std::string>, FateCounts>& all,
           const std::map<std::pair<std::string, std::string>, FateCounts>& part) {
  for (const auto& [key, counts] : part) {
    for (const auto& [fate, count] : counts.counts) all[key].counts[fate] += count;
  }
}

void merge(ArtifactScoreReport& all, ArtifactScoreReport&& part) {
  merge(all.groups, part.groups);
  merge(all.kinds, part.kinds);
  for (const auto& [name, count] : part.executors) all.executors[name] += count;
  all.artifacts += part.artifacts;
  std::ranges::move(part.escapes, std::back_inserter(all.escapes));
  std::ranges::move(part.false_alarms, std::back_inserter(all.false_alarms));
  std::ranges::move(part.left_out, std::back_inserter(all.left_out));
}

core::Status check(const ArtifactScoreConfig& config) {
  if (config.folders.empty() && config.sources.empty())
    return core::usage_error("no converter and no folder of artifacts is given");
  if (config.folders.empty() && config.items.empty()) return core::usage_error("nothing is selected: no case matches");
  for (const ArtifactSource& source : config.sources) {
    const ArtifactKind kind = source.description.supports.artifact;
    if (kind != ArtifactKind::qdq && !config.falsify) {
      return core::usage_error(
          fmt::format("\"{}\" writes artifacts of kind \"{}\", which are no graphs that a defect could be put "
                      "into; --falsify changes its outputs",
                      source.name, core::word_of(kind)));
    }
  }
  return core::success();
}

}  // namespace

std::string_view fate_name(Fate fate) {
  constexpr std::array<std::string_view, 6> kNames{"not run", "hidden", "red", "unjudged", "failed", "passed"};
  return kNames[static_cast<std::size_t>(fate)];
}

Fate fate_of(std::string_view verdict, judge::Gate gate) {
  // By its name first: where everything has to be judged, its gate is red, and still nothing was caught.
  if (verdict == "unjudged") return Fate::unjudged;
  for (const judge::Verdict own :
       {judge::Verdict::harness_error, judge::Verdict::invalid_case, judge::Verdict::unsupported}) {
    if (verdict == judge::verdict_name(own)) return Fate::failed;
  }
  const bool proves_nothing = verdict == judge::verdict_name(judge::Verdict::mistrusted);
  return gate == judge::Gate::red && !proves_nothing ? Fate::red : Fate::passed;
}

std::size_t FateCounts::of(Fate fate) const {
  const auto found = counts.find(fate);
  return found == counts.end() ? 0 : found->second;
}

std::size_t FateCounts::tried() const {
  std::size_t sum = 0;
  for (const auto& [fate, count] : counts) sum += count;
  return sum;
}

std::size_t FateCounts::visible() const { return tried() - of(Fate::not_run) - of(Fate::hidden); }

FateCounts ArtifactScoreReport::total() const {
  FateCounts sum;
  for (const auto& [key, group] : groups) {
    for (const auto& [fate, count] : group.counts) sum.counts[fate] += count;
  }
  return sum;
}

std::size_t ArtifactScoreReport::overclaimed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(escapes, [](const Escape& escape) { return escape.covered && escaped(escape.fate); }));
}

bool is_covered(const judge::Coverage& coverage, std::string_view node, std::string_view op) {
  const auto found = std::ranges::find_if(coverage.nodes, [&](const judge::Coverage::Node& each) {
    return !node.empty() && each.node == node && each.op == op;
  });
  if (found != coverage.nodes.end()) return !found->layer.empty();
  constexpr double kWhole = 1;
  return coverage.applies && coverage.judged_nodes() == coverage.nodes.size() && coverage.least_output() >= kWhole;
}

bool shows(const OutputQuality& quality) {
  constexpr double kLossDb = 3, kPoorDb = 20;
  if (!quality.changed_db) return false;
  const double plain_db = quality.plain_db.value_or(std::numeric_limits<double>::infinity());
  if (quality.predicted_db) {
    return *quality.changed_db < std::min(*quality.predicted_db, plain_db) - quality.prediction_limit_db;
  }
  return *quality.changed_db < plain_db - kLossDb && *quality.changed_db < kPoorDb;
}

core::Result<ArtifactScoreReport> score_artifacts(const ArtifactScoreConfig& config) {
  if (core::Status status = check(config); !status) return status.error();
  const bool from_folders = !config.folders.empty();
  const std::size_t things = from_folders ? config.folders.size() : config.items.size();
  const std::size_t sources = std::max<std::size_t>(config.sources.size(), 1);
  std::vector<std::optional<core::Result<ArtifactScoreReport>>> parts(sources * things);
  run::for_each_index(parts.size(), config.jobs, [&](std::size_t index) {
    const ArtifactSource* source = config.sources.empty() ? nullptr : &config.sources[index / things];
    const std::size_t thing = index % things;
    ArtifactScoreReport report;
    const core::Status status = from_folders ? score_folder(config, source, config.folders[thing], report)
                                             : score_item(config, *source, config.items[thing], report);
    if (status) {
      parts[index] = std::move(report);
    } else {
      parts[index] =
          status.error().within(from_folders ? config.folders[thing].string() : config.items[thing].test_case.name);
    }
  });
  ArtifactScoreReport report;
  for (std::optional<core::Result<ArtifactScoreReport>>& part : parts) {
    if (!*part) return part->error();
    merge(report, **std::move(part));
  }
  return report;
}

}  // namespace assay::mutants
