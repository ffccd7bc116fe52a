#include "harness/score/false_alarms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "converters/veiled.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/programs/executed_elsewhere.hpp"
#include "harness/programs/subject.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/parallel.hpp"
#include "harness/suites/expected.hpp"

namespace assay::score {
namespace {

using converters::ArtifactKind;
using nlohmann::json;

/// A correct way to convert and execute: the converter's own, or its artifact run by ONNX Runtime.
struct Variant {
  std::string name;
  std::string machine;  ///< of the converter's variants, or "" for the plain one
  std::string options = "{}";
  programs::ConverterSpec executor;  ///< a program that executes the artifacts; no command: the converter itself
  std::string version;               ///< of that program
  std::string skipped;
};

std::vector<Variant> all_variants(const converters::Switchable& converter) {
  std::vector<Variant> all;
  for (const converters::Switchable::Variant& each : converter.variants) {
    all.push_back({each.name, each.name, each.options_json, {}, {}, {}});
  }
  for (const auto& [name, executor] : {std::pair<std::string, std::string>{"onnxruntime", "onnxruntime"},
                                       {"onnxruntime_optimized", "onnxruntime:optimized"},
                                       {"onnxruntime_threads", "onnxruntime:threads"}}) {
    Variant variant{name, "", "{}", {}, {}, {}};
    if (const auto specs = programs::parse_converter(executor, {}, {}, ""); specs) {
      variant.executor = specs->front();
      variant.version = specs->front().version;
      variant.skipped = specs->front().unavailable;
    } else {
      variant.skipped = specs.error().message;
    }
    all.push_back(std::move(variant));
  }
  return all;
}

core::Result<std::vector<Variant>> wanted_variants(const FalseAlarmConfig& config) {
  const std::vector<std::string>& names = config.variants;
  std::vector<Variant> all = all_variants(config.converter);
  if (names.empty()) {
    for (Variant& each : all) {
      if (!each.executor.command.empty() && each.skipped.empty())
        each.skipped = "runs another program: ask for it by name";
    }
    return all;
  }
  std::vector<Variant> wanted;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Variant::name);
    if (found == all.end()) {
      std::vector<std::string> known;
      known.reserve(all.size());
      for (const Variant& each : all) known.push_back(each.name);
      return core::Error{core::ErrorKind::usage,
                         fmt::format("there is no variant \"{}\"; there are: {}", name,
                                     core::join(core::nearest(name, known, known.size()), ", ")),
                         {},
                         {},
                         {}};
    }
    wanted.push_back(*found);
    Variant& variant = wanted.back();
    if (!variant.executor.command.empty() && variant.skipped.empty()) {
      variant.skipped = programs::describe(variant.executor, {}).unavailable();
    }
  }
  return wanted;
}

/// How a variant is called where an artifact of `kind` is judged.
std::string judged_name(const Variant& variant, ArtifactKind kind) {
  return kind == ArtifactKind::qdq ? variant.name : fmt::format("{}:{}", variant.name, core::word_of(kind));
}

/// The expected failures of those variants that run. Threads may share it.
class KnownDefects {
 public:
  KnownDefects(const FalseAlarmConfig& config, const std::vector<Variant>& variants)
      : config_(config), expected_(about(config, variants)) {}

  void apply(const run::RunItem& item, const std::string& options, const Variant& variant, ArtifactKind kind,
             judge::Judgement& judgement) {
    const std::scoped_lock lock(mutex_);
    expected_.apply({item.test_case.name, options, converter_name(config_, variant, kind), variant.version}, judgement);
  }
  [[nodiscard]] std::vector<std::string> unused() const { return expected_.unused(); }

 private:
  static std::string converter_name(const FalseAlarmConfig& config, const Variant& variant, ArtifactKind kind) {
    return config.converter.name + "+" + judged_name(variant, kind);
  }

  static std::vector<corpus::ExpectedFailure> about(const FalseAlarmConfig& config,
                                                    const std::vector<Variant>& variants) {
    std::vector<corpus::ExpectedFailure> entries = config.expected_failures;
    std::erase_if(entries, [&](const corpus::ExpectedFailure& entry) {
      return std::ranges::none_of(variants, [&](const Variant& variant) {
        return variant.skipped.empty() && std::ranges::any_of(config.kinds, [&](ArtifactKind kind) {
                 return suites::concerns(entry, converter_name(config, variant, kind), variant.version);
               });
      });
    });
    return entries;
  }

  const FalseAlarmConfig& config_;
  std::mutex mutex_;
  suites::ExpectedFailures expected_;
};

/// The variants' other programs: started when first asked for, kept for the next case. Threads may share it; it must
/// outlive what it lends.
class ExecutorPool {
 public:
  /// One that nobody else uses until it is let go.
  std::shared_ptr<converters::Converter> borrow(const Variant& variant) {
    const std::scoped_lock lock(mutex_);
    auto& idle = idle_[variant.name];
    std::unique_ptr<converters::Converter> client;
    if (idle.empty()) {
      client = programs::start_client(variant.executor, {});
    } else {
      client = std::move(idle.back());
      idle.pop_back();
    }
    return {client.release(), [this, &idle](converters::Converter* done) {
              const std::scoped_lock back(mutex_);
              idle.emplace_back(done);
            }};
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<converters::Converter>>> idle_;
};

core::Result<std::unique_ptr<converters::Converter>> make_variant(const Variant& variant,
                                                                  const converters::Switchable::Make& make,
                                                                  ExecutorPool& executors) {
  auto converter = make({}, variant.machine);
  if (!converter || variant.executor.command.empty()) return converter;
  return std::unique_ptr<converters::Converter>(
      std::make_unique<programs::ExecutedElsewhere>(*std::move(converter), executors.borrow(variant)));
}

/// The case demands by name what the variant asks otherwise: it has nothing to say about it.
bool contradicts(const corpus::Case& test_case, const json& options) {
  const auto precision = options.find("precision");
  if (precision == options.end() || test_case.model == nullptr) return false;
  return std::ranges::any_of(test_case.model->graph.nodes, [&](const model::Node& node) {
    const auto& demanded = test_case.expect.precision;
    return precision->contains(node.op_type) && (demanded.contains(node.op_type) || demanded.contains(node.name));
  });
}

/// What the plain converter's engine runs, the other program does not.
bool is_refused(const run::Trial& plain, const run::Trial& trial) {
  const auto& own = plain.evidence.executions;
  const auto& other = trial.evidence.executions;
  for (std::size_t i = 0; i < other.size() && i < own.size(); ++i) {
    if (own[i].reply.outcome == converters::Outcome::ok && other[i].reply.outcome != converters::Outcome::ok)
      return true;
  }
  return false;
}

struct CaseAlarms {
  std::vector<VariantScore> variants;
  std::vector<FalseAlarm> alarms;
};

class CaseVariants {
 public:
  CaseVariants(const FalseAlarmConfig& config, const std::vector<Variant>& variants, const run::RunItem& item,
               std::size_t planned_verdicts, ExecutorPool& executors, KnownDefects& known)
      : config_(config),
        variants_(variants),
        item_(item),
        planned_verdicts_(planned_verdicts),
        executors_(executors),
        known_(known) {}

  core::Result<CaseAlarms> run() {
    auto bench = run::CaseBench::create(item_.test_case);
    if (!bench) return bench.error();
    bench_ = *std::move(bench);
    for (const Variant& variant : variants_) {
      out_.variants.push_back({.variant = variant.name, .skipped = variant.skipped});
      if (!variant.skipped.empty()) continue;
      if (core::Status status = run_variant(variant); !status) return status.error();
    }
    return std::move(out_);
  }

 private:
  core::Status run_variant(const Variant& variant) {
    auto converter = make_variant(variant, make_, executors_);
    if (!converter) return converter.error();
    auto description = (*converter)->describe();
    if (!description) return description.error();
    const json own = json::parse(variant.options);
    if (contradicts(item_.test_case, own)) return core::success();
    std::set<std::string> seen;  // option sets may fall together under the variant's own options
    for (const corpus::OptionSet& set : item_.option_sets) {
      json options = json::parse(set.options_json);
      options.update(own);
      if (!seen.insert(options.dump()).second) continue;
      const core::Result<const run::Trial*> plain = plain_trial(set.options_json);
      if (!plain) return plain.error();
      run::Trial trial = bench_->attempt(**converter, *description, options.dump());
      if (run::same_trial(**plain, trial)) {
        ++out_.variants.back().same;
      } else if (!variant.executor.command.empty() && is_refused(**plain, trial)) {
        ++out_.variants.back().refused;
      } else {
        bench_->relate(**converter, trial);
        judge_trial(variant, set.label, trial);
      }
      run::CaseBench::discard(trial);
    }
    return core::success();
  }

  /// What the converter gives without any variant.
  core::Result<const run::Trial*> plain_trial(const std::string& options) {
    const auto found = plain_.find(options);
    if (found != plain_.end()) return static_cast<const run::Trial*>(&found->second);
    auto converter = make_({}, "");
    if (!converter) return converter.error();
    auto description = (*converter)->describe();
    if (!description) return description.error();
    run::Trial trial = bench_->attempt(**converter, *description, options);
    trial.evidence.ask_trace = nullptr;  // the converter ends here
    return static_cast<const run::Trial*>(&plain_.emplace(options, std::move(trial)).first->second);
  }

  void judge_trial(const Variant& variant, const std::string& label, const run::Trial& trial) {
    for (const ArtifactKind kind : config_.kinds) {
      const judge::Depth depth = config_.on_judged ? judge::Depth::full : judge::Depth::gate;
      judge::Judgement judgement =
          bench_->judge(kind == ArtifactKind::qdq ? trial : run::seen_as(trial, kind), planned_verdicts_, depth);
      if (config_.on_judged) config_.on_judged({item_, variant.name, kind, trial, judgement});
      VariantScore& score = out_.variants.back();
      known_.apply(item_, label, variant, kind, judgement);
      if (judgement.verdict == judge::Verdict::xfail) {
        ++score.known;
        continue;
      }
      ++score.judgements;
      if (judgement.gate != judge::Gate::red) continue;
      ++score.alarms;
      out_.alarms.push_back({judged_name(variant, kind), item_.test_case.name, label, judgement.reason});
    }
  }

  const FalseAlarmConfig& config_;
  const std::vector<Variant>& variants_;
  const run::RunItem& item_;
  std::size_t planned_verdicts_;
  ExecutorPool& executors_;
  KnownDefects& known_;
  converters::Switchable::Make make_ = config_.converter.maker();
  std::unique_ptr<run::CaseBench> bench_;
  std::map<std::string, run::Trial> plain_;
  CaseAlarms out_;
};

}  // namespace

double clopper_pearson_upper(std::size_t alarms, std::size_t count) {
  constexpr double kTail = 0.05;
  if (count == 0 || alarms >= count) return 1;
  // P(at most `alarms` of `count`) falls with the rate; bisection to the last bit that matters.
  const auto n = static_cast<double>(count);
  const auto probability = [&](double rate) {
    double sum = 0;
    for (std::size_t k = 0; k <= alarms; ++k) {
      const auto i = static_cast<double>(k);
      sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) + i * std::log(rate) +
                      (n - i) * std::log1p(-rate));
    }
    return sum;
  };
  double low = 0, high = 1;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (probability(middle) >= kTail ? low : high) = middle;
  }
  return high;
}

std::size_t FalseAlarmReport::judgements() const {
  std::size_t sum = 0;
  for (const VariantScore& each : variants) sum += each.judgements;
  return sum;
}

double FalseAlarmReport::upper_bound() const { return clopper_pearson_upper(alarms.size(), judgements()); }

core::Result<FalseAlarmReport> find_false_alarms(const FalseAlarmConfig& config) {
  if (config.items.empty()) {
    return core::Error{core::ErrorKind::usage, "nothing is selected: no case matches", {}, {}, {}};
  }
  core::Result<std::vector<Variant>> variants = wanted_variants(config);
  if (!variants) return variants.error();
  std::size_t planned = 0;
  for (const run::RunItem& item : config.items) planned += item.option_sets.size() * variants->size();
  ExecutorPool executors;
  KnownDefects known(config, *variants);
  std::vector<std::optional<core::Result<CaseAlarms>>> parts(config.items.size());
  run::for_each_index(config.items.size(), config.jobs, [&](std::size_t index) {
    parts[index] = CaseVariants(config, *variants, config.items[index], planned, executors, known).run();
  });
  FalseAlarmReport report;
  for (const Variant& variant : *variants)
    report.variants.push_back({.variant = variant.name, .skipped = variant.skipped, .note = variant.executor.note});
  for (std::size_t index = 0; index < parts.size(); ++index) {
    core::Result<CaseAlarms>& part = *parts[index];
    if (!part) return part.error().within(config.items[index].test_case.name);
    for (std::size_t i = 0; i < part->variants.size(); ++i) {
      report.variants[i].judgements += part->variants[i].judgements;
      report.variants[i].known += part->variants[i].known;
      report.variants[i].same += part->variants[i].same;
      report.variants[i].refused += part->variants[i].refused;
      report.variants[i].alarms += part->variants[i].alarms;
    }
    std::ranges::move(part->alarms, std::back_inserter(report.alarms));
  }
  report.unused_expectations = known.unused();
  return report;
}

}  // namespace assay::score
