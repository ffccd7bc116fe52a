// Tolerances in use beside the judge's layers, on the same faults and the same correct variants: how many faults each
// catches, and how often it calls a correct converter wrong. bench/policies.py makes table and plot of what this
// prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "converters/embedded/switchable.hpp"
#include "converters/veiled.hpp"
#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/reference_cache.hpp"
#include "harness/score/false_alarms.hpp"
#include "harness/score/score.hpp"

namespace {

using namespace assay;
using converters::ArtifactKind;
using judge::Facet;
using judge::Finding;
using judge::Verdict;

/// What a tolerance looks at: the outputs of a trial against the float64 reference, the worst of all of them.
struct Numbers {
  double elementwise = 0;  ///< smallest t with |actual − expected| <= t + t·|expected| for every element
  double cosine = 1;
  double sqnr_db = std::numeric_limits<double>::infinity();
};

struct Facts {
  bool structure = false;  ///< status, names, count, shape or type are wrong: everybody sees that
  bool l0 = false, l1 = false, l2 = false, predicted = false;
  bool red = false;  ///< the verdict's gate
  Numbers all, typical;
  double prediction_db = std::numeric_limits<double>::infinity();  ///< SQNR less the predicted one
};

struct Policy {
  const char* name;
  const char* group;  ///< "tolerance" or "assay"
  bool (*rejects)(const Facts&);
};

constexpr double kNmse = 5e-4;
// `!(value <= limit)`, so that NaN is rejected.
constexpr std::array kPolicies{
    Policy{"status, names, shapes and types only", "tolerance", [](const Facts&) { return false; }},
    Policy{"elementwise 1e-5", "tolerance", [](const Facts& f) { return !(f.all.elementwise <= 1e-5); }},
    Policy{"elementwise 1e-3", "tolerance", [](const Facts& f) { return !(f.all.elementwise <= 1e-3); }},
    Policy{"elementwise 1e-2", "tolerance", [](const Facts& f) { return !(f.all.elementwise <= 1e-2); }},
    Policy{"cosine ≥ 0.99", "tolerance", [](const Facts& f) { return !(f.all.cosine >= 0.99); }},
    Policy{"cosine ≥ 0.997", "tolerance", [](const Facts& f) { return !(f.all.cosine >= 0.997); }},
    Policy{"SNR ≥ 20 dB", "tolerance", [](const Facts& f) { return !(f.all.sqnr_db >= 20); }},
    Policy{"NMSE ≤ 5e-4", "tolerance", [](const Facts& f) { return !(std::pow(10, -f.all.sqnr_db / 10) <= kNmse); }},
    Policy{"elementwise 1e-2, typical data", "tolerance",
           [](const Facts& f) { return !(f.typical.elementwise <= 1e-2); }},
    Policy{"cosine ≥ 0.99, typical data", "tolerance", [](const Facts& f) { return !(f.typical.cosine >= 0.99); }},
    Policy{"cosine ≥ 0.997, typical data", "tolerance", [](const Facts& f) { return !(f.typical.cosine >= 0.997); }},
    Policy{"SNR ≥ 20 dB, typical data", "tolerance", [](const Facts& f) { return !(f.typical.sqnr_db >= 20); }},
    Policy{"NMSE ≤ 5e-4, typical data", "tolerance",
           [](const Facts& f) { return !(std::pow(10, -f.typical.sqnr_db / 10) <= kNmse); }},
    Policy{"predicted SQNR − 1.5 dB", "tolerance", [](const Facts& f) { return !(f.prediction_db >= -1.5); }},
    Policy{"L0 alone", "assay", [](const Facts& f) { return f.l0; }},
    Policy{"L1 alone", "assay", [](const Facts& f) { return f.l1; }},
    Policy{"L2's bounds and moments alone", "assay", [](const Facts& f) { return f.l2; }},
    Policy{"L2's prediction and worst channel alone", "assay", [](const Facts& f) { return f.predicted; }},
    Policy{"all of Assay", "assay", [](const Facts& f) { return f.red; }},
};

void compare(const core::Tensor& expected, const core::Tensor& actual, Numbers& out) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto worse = [](double& worst, double value, auto is_worse) {
    if (!std::isnan(worst) && (std::isnan(value) || is_worse(value, worst))) worst = value;
  };
  if (!expected.is_real() || !actual.is_real()) {
    const bool same = expected.to_reals() == actual.to_reals();
    if (!same) out = {nan, nan, nan};
    return;
  }
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    const double e = expected.reals()[i], a = actual.reals()[i];
    worse(out.elementwise, e == a ? 0 : std::fabs(a - e) / (1 + std::fabs(e)), std::greater{});
  }
  const judge::Deviation deviation = judge::measure_deviation(expected, actual);
  if (deviation.noise == 0) return;
  // A constant zero has neither angle nor signal: what isn't zero then is rejected.
  worse(out.cosine, deviation.cosine(), std::less{});
  worse(out.sqnr_db, deviation.sqnr_db(), std::less{});
}

bool is_structural(Facet facet) {
  return facet == Facet::status || facet == Facet::names || facet == Facet::count || facet == Facet::shape ||
         facet == Facet::dtype;
}

class Observer {
 public:
  void see(const score::Judged& judged, bool correct) {
    const Facts facts = facts_of(judged);
    const std::lock_guard lock(mutex_);
    Counted& counted = (correct ? variants_ : faults_)[judged.kind][std::string(judged.subject)];
    counted.cases.insert(judged.item.test_case.name);
    for (std::size_t p = 0; p < kPolicies.size(); ++p) {
      if (facts.structure || kPolicies[p].rejects(facts)) counted.rejected[p].insert(judged.item.test_case.name);
    }
  }

  [[nodiscard]] nlohmann::ordered_json json(const std::vector<ArtifactKind>& kinds) const {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (const ArtifactKind kind : kinds) {
      const auto faults = faults_.find(kind), variants = variants_.find(kind);
      if (faults == faults_.end() || variants == variants_.end()) continue;
      nlohmann::ordered_json& entry = out[std::string(core::word_of(kind))];
      entry["faults"] = faults->second.size();
      entry["fault_pairs"] = pairs(faults->second);
      entry["variants"] = variants->second.size();
      entry["variant_pairs"] = pairs(variants->second);
      for (std::size_t p = 0; p < kPolicies.size(); ++p) {
        nlohmann::ordered_json missed = nlohmann::ordered_json::array();
        for (const auto& [fault, counted] : faults->second) {
          if (counted.rejected[p].empty()) missed.push_back(fault);
        }
        const std::size_t alarms = rejected(variants->second, p);
        entry["policies"].push_back(
            {{"name", kPolicies[p].name},
             {"group", kPolicies[p].group},
             {"caught_faults", faults->second.size() - missed.size()},
             {"caught_pairs", rejected(faults->second, p)},
             {"false_alarms", alarms},
             {"false_alarm_rate_95", score::clopper_pearson_upper(alarms, pairs(variants->second))},
             {"missed", std::move(missed)}});
      }
    }
    return out;
  }

 private:
  struct Counted {
    std::set<std::string> cases;
    std::array<std::set<std::string>, kPolicies.size()> rejected;
  };
  using ByName = std::map<std::string, Counted>;

  static std::size_t pairs(const ByName& all) {
    std::size_t count = 0;
    for (const auto& [name, counted] : all) count += counted.cases.size();
    return count;
  }
  static std::size_t rejected(const ByName& all, std::size_t policy) {
    std::size_t count = 0;
    for (const auto& [name, counted] : all) count += counted.rejected[policy].size();
    return count;
  }

  static Facts facts_of(const score::Judged& judged) {
    const judge::Judgement& judgement = judged.judgement;
    Facts facts;
    facts.red = judgement.gate == judge::Gate::red;
    const bool numbers = judgement.verdict == Verdict::pass || judgement.verdict == Verdict::fail ||
                         judgement.verdict == Verdict::mistrusted || judgement.verdict == Verdict::not_quantized;
    facts.structure = facts.red && (!numbers || (judgement.findings.empty() && judgement.verdict == Verdict::fail));
    for (const Finding& finding : judgement.findings) {
      if (finding.amber) continue;
      facts.structure = facts.structure || is_structural(finding.facet);
      facts.l0 = facts.l0 || finding.layer == "L0";
      facts.l1 = facts.l1 || finding.layer == "L1";
      facts.l2 = facts.l2 || (finding.layer == "L2" && !finding.predicted);
      facts.predicted = facts.predicted || finding.predicted;
    }
    for (const judge::Metric& metric : judgement.metrics) {
      if (metric.name == "prediction_deviation_db") facts.prediction_db = std::min(facts.prediction_db, metric.value);
    }
    if (!facts.structure) measure(judged, facts);
    return facts;
  }

  static void measure(const score::Judged& judged, Facts& facts) {
    // A case's judgements all come from one thread, one case after the other.
    thread_local const run::RunItem* item = nullptr;
    thread_local std::shared_ptr<judge::ReferenceCache> references;
    if (item != &judged.item) {
      item = &judged.item;
      references = judge::make_reference_cache();
    }
    const judge::Evidence& evidence = judged.trial.evidence;
    if (evidence.model == nullptr) return;
    const std::string key = judge::model_key(*evidence.model, judged.item.test_case.content_hash);
    for (const judge::Execution& execution : evidence.executions) {
      const auto expected = references->run(*evidence.model, key, execution.inputs);
      if (!expected) continue;
      for (const auto& [name, actual] : execution.outputs) {
        const auto found = (*expected)->find(name);
        if (found == (*expected)->end() || found->second.shape() != actual.shape()) continue;
        compare(found->second, actual, facts.all);
        if (execution.data_set == "typical") compare(found->second, actual, facts.typical);
      }
    }
  }

  std::mutex mutex_;
  std::map<ArtifactKind, ByName> faults_, variants_;
};

int fail(const core::Error& error) {
  fmt::print(stderr, "policies: {}\n", error.message);
  return 2;
}

/// JSON on standard output.
int run_program(const std::vector<std::string>& arguments) {
  std::string label;
  std::vector<ArtifactKind> kinds;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--options") {
      label = arguments[i + 1];
    } else if (arguments[i] == "--kind") {
      const core::Result<ArtifactKind> kind = converters::artifact_kind(arguments[i + 1]);
      if (!kind) return fail(kind.error());
      kinds.push_back(*kind);
    } else {
      fmt::print(stderr, "usage: assay_policies [--options LABEL] [--kind qdq|scales|opaque]…\n");
      return 2;
    }
  }
  if (kinds.empty()) kinds = {ArtifactKind::qdq, ArtifactKind::opaque};
  const auto corpus = corpus::load_corpus();
  const auto suite = corpus::load_suite("default");
  if (!corpus || !suite) return fail(corpus ? suite.error() : corpus.error());
  auto cases = corpus::select_cases(*suite, *corpus);
  if (!cases) return fail(cases.error());
  std::vector<run::RunItem> items;
  std::vector<std::string> labels;
  for (const corpus::OptionSet& set : suite->option_sets) {
    if (label.empty() || set.label == label) labels.push_back(set.label);
  }
  for (corpus::Case& each : *cases) {
    run::RunItem item{std::move(each), {}, std::nullopt};
    std::ranges::copy_if(suite->option_sets, std::back_inserter(item.option_sets),
                         [&](const corpus::OptionSet& set) { return label.empty() || set.label == label; });
    items.push_back(std::move(item));
  }
  Observer observer;
  score::ScoreConfig faults;
  faults.converter = embedded::switchable();
  faults.items = items;
  faults.kinds = kinds;
  faults.on_judged = [&](const score::Judged& judged) { observer.see(judged, judged.subject.empty()); };
  const auto score = score::score(faults);
  if (!score) return fail(score.error());
  score::FalseAlarmConfig variants;
  variants.converter = embedded::switchable();
  variants.items = items;
  variants.kinds = kinds;
  variants.on_judged = [&](const score::Judged& judged) { observer.see(judged, true); };
  const auto alarms = score::find_false_alarms(variants);
  if (!alarms) return fail(alarms.error());
  nlohmann::ordered_json json{{"suite", "default"},
                              {"cases", items.size()},
                              {"option_sets", labels},
                              {"judgements", score->judgements + alarms->judgements()}};
  json["kinds"] = observer.json(kinds);
  fmt::print("{}\n", json.dump(1));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run_program(std::vector<std::string>(arguments + 1, arguments + count));
  } catch (const std::exception& error) {
    fmt::print(stderr, "policies: {}\n", error.what());
    return 2;
  }
}
