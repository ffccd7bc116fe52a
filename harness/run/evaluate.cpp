#include "harness/run/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "converters/veiled.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/run/feed_files.hpp"
#include "harness/run/table_scales.hpp"

namespace assay::run {
namespace fs = std::filesystem;
using converters::Outcome;
using judge::Facet;
using judge::Judgement;
using judge::Stage;
using judge::Verdict;

namespace {

/// A verdict that is Assay's or the case's own fault.
Judgement own_fault(const core::Error& error) {
  Judgement judgement;
  judgement.verdict = error.kind == core::ErrorKind::invalid_case ? Verdict::invalid_case : Verdict::harness_error;
  judgement.gate = judge::default_gate(judgement.verdict);
  judgement.node = error.node;
  judgement.op = error.op;
  judgement.reason = error.message;
  return judgement;
}

std::string feed_key(const corpus::FeedSpec& spec) {
  std::string key = fmt::format("{}/{}/{}/{}/{}", spec.batches, spec.seed, spec.batch.value_or(-1),
                                spec.stop_after.value_or(-1), spec.last_batch.value_or(-1));
  for (const std::string& name : spec.drop) {
    key += "/drop " + name;
  }
  for (const std::string& name : spec.order) {
    key += "/order " + name;
  }
  for (const auto& [name, value] : spec.poison) {
    key += fmt::format("/poison {} {}", name, value);
  }
  return key;
}

/// What was checked, into the verdict: the layer, and for each relation that could be asked whether it holds.
void note_relations(const RelationReport& relations, Judgement& judgement) {
  for (const std::string& name : relations.held) {
    judgement.metrics.push_back({"", "", "l3_" + name, 1});
  }
  for (const std::string& name : relations.broken) {
    judgement.metrics.push_back({"", "", "l3_" + name, 0});
  }
  if (!relations.held.empty() || !relations.broken.empty()) {
    judgement.layers.emplace_back("L3");
  }
}

/// Equal in type, shape and every value, NaN being equal to itself.
bool same_values(const core::Tensor& a, const core::Tensor& b) {
  if (a == b) {
    return true;
  }
  return a.is_real() && a.type() == b.type() && a.shape() == b.shape() &&
         std::ranges::equal(a.reals(), b.reals(),
                            [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// Do these options say how codes lie? Then a ready artifact is held to them, else to what it evidently has.
bool states_codes(const std::string& options_json) {
  const nlohmann::json json = nlohmann::json::parse(options_json, nullptr, false);
  return json.is_object() && (json.contains("activation") || json.contains("weight") || json.contains("symmetric") ||
                              json.contains("per_axis"));
}

std::map<std::string, core::QuantParams> input_params(const judge::Evidence& evidence) {
  std::map<std::string, core::QuantParams> params = judge::audited_input_params(evidence);
  for (const converters::TensorScale& tensor : evidence.conversion.tensors) {
    if (evidence.model->graph.find_input(tensor.name) != nullptr) {
      params[tensor.name] = tensor.params;
    }
  }
  return params;
}

/// The files in a folder with their content, by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    core::Result<std::string> bytes = core::read_file(entry.path());
    files.emplace(entry.path().filename().string(), bytes ? *std::move(bytes) : std::string());
  }
  return files;
}

/// Where the files of a conversion lie: its own folder, or that of an earlier one that it repeats.
fs::path files_of(const judge::Evidence& evidence) {
  return evidence.conversion.artifact.empty() ? evidence.output_folder : evidence.conversion.artifact.parent_path();
}

}  // namespace

bool same_conversion(const judge::Evidence& a, const judge::Evidence& b) {
  const converters::ConvertReply& x = a.conversion;
  const converters::ConvertReply& y = b.conversion;
  return x.outcome == y.outcome && x.node == y.node && x.op == y.op && x.reason == y.reason && x.tensors == y.tensors &&
         x.precision == y.precision && x.diagnostics == y.diagnostics &&
         ((!x.artifact.empty() && x.artifact == y.artifact) || contents(files_of(a)) == contents(files_of(b)));
}

bool same_outputs(const judge::Evidence& a, const judge::Evidence& b) {
  return std::ranges::equal(a.executions, b.executions, [](const judge::Execution& x, const judge::Execution& y) {
    return x.reply.outcome == y.reply.outcome && x.reply.reason == y.reply.reason && x.outputs == y.outputs;
  });
}

bool same_trial(const Trial& a, const Trial& b) {
  return a.settled.has_value() == b.settled.has_value() && same_conversion(a.evidence, b.evidence) &&
         same_outputs(a.evidence, b.evidence);
}

Trial seen_as(const Trial& trial, const std::string& kind) {
  Trial seen = trial;
  converters::veil(seen.evidence.converter, kind);
  converters::veil(seen.evidence.conversion, kind);
  seen.evidence.artifact.reset();
  seen.evidence.ask_trace = nullptr;
  for (judge::Execution& execution : seen.evidence.executions) {
    execution.trace.clear();
  }
  return seen;
}

CaseBench::CaseBench(const corpus::Case& test_case, core::TemporaryFolder folder, std::optional<UserData> data)
    : case_(test_case),
      folder_(std::move(folder)),
      data_(std::move(data)),
      model_file_(folder_.path() / "model.onnx"),
      references_(judge::make_reference_cache()) {}

core::Result<std::unique_ptr<CaseBench>> CaseBench::create(const corpus::Case& test_case,
                                                           std::optional<UserData> data) {
  if (test_case.model == nullptr) {
    return core::Error{core::ErrorKind::unsupported, test_case.unavailable, {}, {}, {}};
  }
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) {
    return folder.error();
  }
  std::unique_ptr<CaseBench> bench(new CaseBench(test_case, *std::move(folder), std::move(data)));
  if (core::Status status = model::save_model(*test_case.model, bench->model_file_); !status) {
    return status.error();
  }
  return bench;
}

core::Result<fs::path> CaseBench::fresh_folder(const std::string& stem) {
  fs::path folder = folder_.path() / fmt::format("{}_{}", stem, counter_++);
  if (core::Status status = core::make_folder(folder); !status) {
    return status.error();
  }
  return folder;
}

core::Result<const CaseBench::Feed*> CaseBench::feed(const corpus::FeedSpec& spec) {
  std::unique_ptr<Feed>& slot = feeds_[feed_key(spec)];
  if (slot != nullptr) {
    return static_cast<const Feed*>(slot.get());
  }
  auto made = std::make_unique<Feed>();
  core::Result<std::vector<core::TensorMap>> batches =
      data_ ? data_->calibration : corpus::calibration_batches(case_, spec);
  if (!batches) {
    return batches.error();
  }
  core::Result<fs::path> folder = fresh_folder("calibration");
  if (!folder) {
    return folder.error();
  }
  made->folder = *folder;
  std::size_t whole = batches->size();
  if (spec.stop_after) {
    whole = std::min(whole, static_cast<std::size_t>(std::max(0, *spec.stop_after)));
  }
  for (std::size_t index = 0; index < whole; ++index) {
    if (core::Status status = write_batch((*batches)[index], batch_folder(*folder, index), spec.order); !status) {
      return status.error();
    }
  }
  if (spec.stop_after && whole < batches->size()) {
    if (core::Status status = write_broken_batch((*batches)[whole], batch_folder(*folder, whole)); !status) {
      return status.error();
    }
    batches->resize(whole);
  }
  made->batches = *std::move(batches);
  slot = std::move(made);
  return static_cast<const Feed*>(slot.get());
}

core::Result<std::string> CaseBench::stale_cache(converters::Converter& converter, const converters::Options& options,
                                                 const corpus::Step& step) {
  // A cache of the same network from other data: reusing it without a word gives wrong ranges.
  constexpr std::uint64_t kOtherSeed = 1000003;
  corpus::FeedSpec other = step.feed;
  other.cache.clear();
  other.seed += kOtherSeed;
  core::Result<const Feed*> data = feed(other);
  if (!data) {
    return data.error();
  }
  core::Result<fs::path> output = fresh_folder("stale");
  if (!output) {
    return output.error();
  }
  const converters::ConvertReply reply = converter.convert({model_file_, (*data)->folder, options, *output});
  return reply.outcome == Outcome::ok ? reply.cache.string() : std::string();
}

Evaluation CaseBench::evaluate(converters::Converter& converter, const converters::Description& description,
                               const std::string& options_json, std::size_t planned_verdicts) {
  const auto begin = std::chrono::steady_clock::now();
  Trial trial = attempt(converter, description, options_json);
  Evaluation out;
  out.conversion = trial.evidence.conversion;
  out.artifact_kind = trial.artifact_kind;
  out.judgement = judge(std::move(trial), planned_verdicts);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Trial CaseBench::attempt(converters::Converter& converter, const converters::Description& description,
                         const std::string& options_json, const Trial* like) {
  Trial trial;
  const auto settle = [&](Judgement judgement) {
    trial.settled = std::move(judgement);
    return std::move(trial);
  };
  converters::Options options;
  std::string previous_cache;
  for (std::size_t index = 0; index < case_.steps.size(); ++index) {
    const corpus::Step& step = case_.steps[index];
    // The suite's options, then the case's, then the step's: each overrides what stands before.
    options = {};
    for (const std::string* json : {&options_json, &case_.options_json, &step.options_json}) {
      core::Result<converters::Options> merged = converters::options_from_json(*json, options);
      if (!merged) {
        return settle(own_fault(merged.error().within(case_.name + ": options")));
      }
      options = *std::move(merged);
    }
    const bool last = index + 1 == case_.steps.size();
    if (const auto reason = judge::unsupported_reason(description, case_, options, last)) {
      Judgement judgement;
      judgement.verdict = Verdict::unsupported;
      judgement.gate = judge::default_gate(judgement.verdict);
      judgement.reason = *reason;
      return settle(std::move(judgement));
    }
    if (step.feed.cache == "previous") {
      options.cache = previous_cache;
    } else if (step.feed.cache == "stale") {
      core::Result<std::string> cache = stale_cache(converter, options, step);
      if (!cache) {
        return settle(own_fault(cache.error()));
      }
      options.cache = *cache;
    }
    core::Result<const Feed*> data = feed(step.feed);
    if (!data) {
      return settle(own_fault(data.error().within(case_.name + ": calibration")));
    }
    core::Result<fs::path> output = fresh_folder("out");
    if (!output) {
      return settle(own_fault(output.error()));
    }
    judge::Evidence& evidence = trial.evidence;
    evidence.conversion = converter.convert({model_file_, (*data)->folder, options, *output});
    if (!last && evidence.conversion.outcome == Outcome::ok) {
      previous_cache = evidence.conversion.cache.string();
      continue;
    }
    evidence.test_case = &case_;
    evidence.options = options;
    evidence.converter = description;
    evidence.model = case_.model.get();
    evidence.calibration = &(*data)->batches;
    evidence.output_folder = *output;
    trial.repeated = like != nullptr && !like->settled && same_conversion(like->evidence, evidence);
    if (!trial.repeated) {
      execute(converter, trial);
    }
    break;
  }
  return trial;
}

Judgement CaseBench::judge(Trial trial, std::size_t planned_verdicts, judge::Depth depth) {
  if (trial.settled) {
    return *trial.settled;
  }
  Judgement judgement = judge::judge(trial.evidence, *references_, planned_verdicts, depth);
  note_relations(trial.relations, judgement);
  return judgement;
}

judge::Explained CaseBench::explain(Trial trial, std::size_t planned_verdicts) {
  if (trial.settled) {
    return {*trial.settled, {}};
  }
  judge::Explained explained = judge::explain(trial.evidence, *references_, planned_verdicts);
  note_relations(trial.relations, explained.judgement);
  return explained;
}

void CaseBench::discard(const Trial& trial) {
  std::error_code ignored;
  fs::remove_all(trial.evidence.output_folder, ignored);
}

core::Result<judge::Evidence> CaseBench::ready_evidence(const converters::Description& description,
                                                        const converters::Options& base,
                                                        const std::string& options_json) const {
  core::Result<converters::Options> options = converters::options_from_json(options_json, base);
  if (!options) {
    return options.error();
  }
  judge::Evidence evidence;
  evidence.test_case = &case_;
  evidence.options = *std::move(options);
  evidence.converter = description;
  evidence.model = case_.model.get();
  if (data_ && data_->calibrated) {
    evidence.calibration = &data_->calibration;
  }
  evidence.conversion.outcome = Outcome::ok;
  return evidence;
}

Evaluation CaseBench::evaluate_artifact(converters::Converter& executor, const converters::Description& description,
                                        const fs::path& artifact, const std::optional<std::string>& options_json,
                                        std::size_t planned_verdicts) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation out;
  core::Result<judge::Evidence> evidence = ready_evidence(description, {}, options_json.value_or("{}"));
  if (evidence) {
    Trial trial;
    trial.evidence = *std::move(evidence);
    trial.evidence.conversion.artifact = artifact;
    trial.evidence.infer_options = !options_json.has_value();
    execute(executor, trial);
    out.artifact_kind = trial.artifact_kind;
    out.judgement = judge(std::move(trial), planned_verdicts);
  } else {
    out.judgement = own_fault(evidence.error());
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Evaluation CaseBench::audit(const converters::Description& description, const fs::path& artifact,
                            const converters::CalibrationTable& table, const std::string& options_json,
                            std::size_t planned_verdicts) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation out;
  core::Result<judge::Evidence> evidence = ready_evidence(description, table_options(table), options_json);
  if (evidence) {
    if (artifact.empty()) {
      evidence->method_stated = table.method.has_value() || states_method(options_json);
      evidence->first_batch_bins = table.first_batch_bins;
      evidence->conversion.tensors = table_scales(table, evidence->options, description.policy);
    } else {
      evidence->conversion.artifact = artifact;
      evidence->infer_options = !states_codes(options_json);
      read_artifact(*evidence);
    }
    for (std::size_t index = 0; data_ && index < data_->inputs.size(); ++index) {
      judge::Execution fed;
      fed.data_set = index == 0 ? "typical" : fmt::format("inputs_{}", index);
      fed.inputs = data_->inputs[index];
      fed.reply.outcome = Outcome::ok;
      evidence->executions.push_back(std::move(fed));
    }
    out.artifact_kind = description.supports.artifact;
    out.judgement = judge::audit(*evidence, *references_, planned_verdicts);
  } else {
    out.judgement = own_fault(evidence.error());
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

void CaseBench::read_artifact(judge::Evidence& evidence) {
  core::Result<model::Model> artifact = model::load_model(evidence.conversion.artifact);
  if (!artifact) {
    evidence.artifact_error = artifact.error().message;
    return;
  }
  evidence.artifact = std::make_shared<const model::Model>(*std::move(artifact));
  if (evidence.infer_options) {
    evidence.options = judge::evident_options(evidence.artifact, *evidence.model, evidence.options);
  }
}

void CaseBench::execute(converters::Converter& converter, Trial& trial) {
  judge::Evidence& evidence = trial.evidence;
  if (evidence.conversion.outcome != Outcome::ok) {
    return;
  }
  trial.artifact_kind = evidence.converter.supports.artifact;
  if (trial.artifact_kind == "qdq") {
    read_artifact(evidence);
  }
  if (evidence.artifact_error.empty() && evidence.converter.supports.execute) {
    if (core::Status status = execute_data_sets(converter, evidence); !status) {
      trial.settled = own_fault(status.error().within(case_.name));
    }
  }
  if (trial.settled) {
    return;
  }
  core::Result<RelationReport> relations = check_relations_of(converter, evidence);
  if (!relations) {
    trial.settled = own_fault(relations.error().within(case_.name));
    return;
  }
  evidence.recorded.insert(evidence.recorded.end(), relations->findings.begin(), relations->findings.end());
  trial.relations = *std::move(relations);
}

core::Result<RelationReport> CaseBench::check_relations_of(converters::Converter& converter,
                                                           const judge::Evidence& evidence) {
  const bool ran = std::all_of(evidence.executions.begin(), evidence.executions.end(),
                               [](const judge::Execution& each) { return each.reply.outcome == Outcome::ok; });
  if (case_.metamorphic.empty() || evidence.calibration == nullptr || evidence.executions.empty() || !ran) {
    return RelationReport{};
  }
  core::Result<fs::path> folder = fresh_folder("twins");
  if (!folder) {
    return folder.error();
  }
  return check_relations(converter, evidence, case_.metamorphic, *folder);
}

core::Result<const CaseBench::DataSet*> CaseBench::data_set(const std::string& name,
                                                            const std::map<std::string, core::QuantParams>& scales) {
  const auto made =
      std::ranges::find_if(data_sets_, [&](const DataSet& set) { return set.name == name && set.scales == scales; });
  if (made != data_sets_.end()) {
    return &*made;
  }
  core::Result<core::TensorMap> inputs = corpus::data_set(case_, name, scales);
  if (!inputs) {
    return inputs.error().within("data set " + name);
  }
  return write_data_set({name, scales, *std::move(inputs), {}});
}

core::Result<const CaseBench::DataSet*> CaseBench::write_data_set(DataSet set) {
  core::Result<fs::path> folder = fresh_folder("in");
  if (!folder) {
    return folder.error();
  }
  if (core::Status status = model::save_tensors(set.inputs, *folder, "input"); !status) {
    return status.error();
  }
  set.folder = *std::move(folder);
  data_sets_.push_back(std::move(set));
  return &data_sets_.back();
}

core::Result<std::vector<const CaseBench::DataSet*>> CaseBench::data_sets(const judge::Evidence& evidence) {
  std::vector<const DataSet*> sets;
  if (data_) {
    for (std::size_t index = data_sets_.size(); index < data_->inputs.size(); ++index) {
      const std::string name = index == 0 ? "typical" : fmt::format("inputs_{}", index);
      if (auto written = write_data_set({name, {}, data_->inputs[index], {}}); !written) {
        return written.error();
      }
    }
    for (const DataSet& set : data_sets_) {
      sets.push_back(&set);
    }
    return sets;
  }
  static const std::map<std::string, core::QuantParams> kNone;
  const std::map<std::string, core::QuantParams> scales = input_params(evidence);
  for (const std::string& name : corpus::data_set_names(case_)) {
    core::Result<const DataSet*> set = data_set(name, corpus::uses_scales(name) ? scales : kNone);
    if (!set) {
      return set.error();
    }
    sets.push_back(*set);
  }
  return sets;
}

core::Status CaseBench::execute_data_sets(converters::Converter& converter, judge::Evidence& evidence) {
  const core::Result<std::vector<const DataSet*>> sets = data_sets(evidence);
  if (!sets) {
    return sets.error();
  }
  for (const DataSet* set : *sets) {
    core::Result<judge::Execution> execution =
        execute(converter, evidence.conversion.artifact, set->name, set->folder, false);
    if (!execution) {
      return execution.error();
    }
    execution->inputs = set->inputs;
    const bool usable = execution->reply.outcome == Outcome::ok;
    evidence.executions.push_back(*std::move(execution));
    if (!usable) {
      break;  // the first failure is the verdict; a hanging executor need not hang once per data set
    }
  }
  if (evidence.converter.supports.trace) {
    evidence.ask_trace = [this, &converter, artifact = evidence.conversion.artifact,
                          deterministic = evidence.converter.policy.deterministic](const judge::Execution& execution) {
      return trace(converter, artifact, execution, deterministic);
    };
  }
  return core::success();
}

core::Result<judge::Execution> CaseBench::execute(converters::Converter& converter, const fs::path& artifact,
                                                  const std::string& data_set, const fs::path& inputs,
                                                  bool with_trace) {
  core::Result<fs::path> output = fresh_folder("outputs");
  core::Result<fs::path> trace = with_trace ? fresh_folder("trace") : fs::path();
  if (!output || !trace) {
    return output ? trace.error() : output.error();
  }
  judge::Execution execution;
  execution.data_set = data_set;
  execution.reply = converter.execute({artifact, inputs, *output, *trace});
  if (execution.reply.outcome != Outcome::ok) {
    return execution;
  }
  // What can't be read is the converter's fault: protocol 1 fixes the files' form.
  const auto read = [&execution](const fs::path& folder, std::string_view stem, core::TensorMap& tensors) {
    core::Result<core::TensorMap> loaded = model::load_tensors(folder, stem);
    if (loaded) {
      tensors = *std::move(loaded);
    } else {
      execution.reply.outcome = Outcome::crash;
      execution.reply.reason = "protocol: " + loaded.error().message;
    }
  };
  read(*output, "output", execution.outputs);
  std::error_code ignored;
  fs::remove_all(*output, ignored);
  if (!with_trace) {
    return execution;
  }
  read(*trace, "trace", execution.trace);
  for (const std::string& name : execution.reply.trace) {
    if (!execution.trace.contains(name)) {
      execution.reply.outcome = Outcome::crash;
      execution.reply.reason =
          fmt::format("protocol: the answer lists \"{}\" in its trace, but no file holds it", name);
    }
  }
  fs::remove_all(*trace, ignored);  // large for a deep network; what is left goes with the case's folder
  return execution;
}

core::Result<core::TensorMap> CaseBench::trace(converters::Converter& converter, const fs::path& artifact,
                                               const judge::Execution& execution, bool deterministic) {
  const auto wrong = [&execution](std::string_view what) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("data set \"{}\", executed again for its trace: {}", execution.data_set, what),
                       {},
                       {},
                       {}};
  };
  core::Result<fs::path> inputs = fresh_folder("in");
  if (!inputs || !model::save_tensors(execution.inputs, *inputs, "input")) {
    return core::TensorMap();  // our own trouble with files: no trace, and no finding against the converter
  }
  core::Result<judge::Execution> again = execute(converter, artifact, execution.data_set, *inputs, true);
  if (!again) {
    return core::TensorMap();
  }
  if (again->reply.outcome != Outcome::ok) {
    return wrong(fmt::format("{}: {}", converters::outcome_name(again->reply.outcome), again->reply.reason));
  }
  for (const auto& [name, tensor] : execution.outputs) {
    const auto found = again->outputs.find(name);
    if (found != again->outputs.end() && same_values(found->second, tensor)) {
      continue;
    }
    if (!deterministic) {
      return core::TensorMap();  // of another execution: it says nothing about this one
    }
    return wrong(fmt::format("output \"{}\" differs from the first execution's", name));
  }
  return std::move(again->trace);
}

}  // namespace assay::run
