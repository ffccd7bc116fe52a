#include "harness/run/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/model/onnx_io.hpp"
#include "harness/run/feed_files.hpp"

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

std::map<std::string, core::QuantParams> input_params(const judge::Evidence& evidence) {
  std::map<std::string, core::QuantParams> params = judge::audited_input_params(evidence);
  for (const converters::TensorScale& tensor : evidence.conversion.tensors) {
    if (evidence.model->graph.find_input(tensor.name) != nullptr) {
      params[tensor.name] = tensor.params;
    }
  }
  return params;
}

}  // namespace

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
                               const std::string& options_json, double judged_elements) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation out;
  const auto finish = [&](Judgement judgement) {
    out.judgement = std::move(judgement);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(out);
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
        return finish(own_fault(merged.error().within(case_.name + ": options")));
      }
      options = *std::move(merged);
    }
    if (const auto reason = judge::unsupported_reason(description, case_, options)) {
      Judgement judgement;
      judgement.verdict = Verdict::unsupported;
      judgement.gate = judge::default_gate(judgement.verdict);
      judgement.reason = *reason;
      return finish(std::move(judgement));
    }
    if (step.feed.cache == "previous") {
      options.cache = previous_cache;
    } else if (step.feed.cache == "stale") {
      core::Result<std::string> cache = stale_cache(converter, options, step);
      if (!cache) {
        return finish(own_fault(cache.error()));
      }
      options.cache = *cache;
    }
    core::Result<const Feed*> data = feed(step.feed);
    if (!data) {
      return finish(own_fault(data.error().within(case_.name + ": calibration")));
    }
    core::Result<fs::path> output = fresh_folder("out");
    if (!output) {
      return finish(own_fault(output.error()));
    }
    out.conversion = converter.convert({model_file_, (*data)->folder, options, *output});
    const bool last = index + 1 == case_.steps.size();
    if (!last && out.conversion.outcome == Outcome::ok) {
      previous_cache = out.conversion.cache.string();
      continue;
    }
    judge::Evidence evidence;
    evidence.test_case = &case_;
    evidence.options = options;
    evidence.converter = description;
    evidence.model = case_.model.get();
    evidence.calibration = &(*data)->batches;
    evidence.conversion = out.conversion;
    evidence.output_folder = *output;
    execute_and_judge(converter, evidence, judged_elements, out);
    break;
  }
  return finish(std::move(out.judgement));
}

Evaluation CaseBench::evaluate_artifact(converters::Converter& executor, const converters::Description& description,
                                        const fs::path& artifact, const std::optional<std::string>& options_json,
                                        double judged_elements) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation out;
  const auto judge_it = [&]() -> core::Status {
    core::Result<converters::Options> options = converters::options_from_json(options_json.value_or("{}"));
    if (!options) {
      return options.error();
    }
    judge::Evidence evidence;
    evidence.test_case = &case_;
    evidence.options = *options;
    evidence.converter = description;
    evidence.model = case_.model.get();
    if (data_ && data_->calibrated) {
      evidence.calibration = &data_->calibration;
    }
    evidence.conversion.outcome = Outcome::ok;
    evidence.conversion.artifact = artifact;
    evidence.infer_options = !options_json.has_value();
    execute_and_judge(executor, evidence, judged_elements, out);
    return core::success();
  };
  if (core::Status status = judge_it(); !status) {
    out.judgement = own_fault(status.error());
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

void CaseBench::execute_and_judge(converters::Converter& converter, judge::Evidence& evidence, double judged_elements,
                                  Evaluation& out) {
  if (evidence.conversion.outcome == Outcome::ok) {
    out.artifact_kind = evidence.converter.supports.artifact;
    if (out.artifact_kind == "qdq") {
      core::Result<model::Model> artifact = model::load_model(evidence.conversion.artifact);
      if (artifact) {
        evidence.artifact = std::make_shared<const model::Model>(*std::move(artifact));
        if (evidence.infer_options) {
          evidence.options = judge::evident_options(evidence.artifact, *evidence.model, evidence.options);
        }
      } else {
        evidence.artifact_error = artifact.error().message;
      }
    }
    if (evidence.artifact_error.empty() && evidence.converter.supports.execute) {
      if (core::Status status = execute_data_sets(converter, evidence); !status) {
        out.judgement = own_fault(status.error().within(case_.name));
        return;
      }
    }
  }
  core::Result<RelationReport> relations = check_relations_of(converter, evidence);
  if (!relations) {
    out.judgement = own_fault(relations.error().within(case_.name));
    return;
  }
  evidence.recorded.insert(evidence.recorded.end(), relations->findings.begin(), relations->findings.end());
  out.judgement = judge::judge(evidence, *references_, judged_elements);
  note_relations(*relations, out.judgement);
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

core::Status CaseBench::execute_data_sets(converters::Converter& converter, judge::Evidence& evidence) {
  const std::map<std::string, core::QuantParams> params = input_params(evidence);
  std::vector<std::pair<std::string, core::TensorMap>> sets;
  if (data_) {
    for (std::size_t index = 0; index < data_->inputs.size(); ++index) {
      sets.emplace_back(index == 0 ? "typical" : fmt::format("inputs_{}", index), data_->inputs[index]);
    }
  } else {
    for (const std::string& name : corpus::data_set_names(case_)) {
      core::Result<core::TensorMap> set = corpus::data_set(case_, name, params);
      if (!set) {
        return set.error().within("data set " + name);
      }
      sets.emplace_back(name, *std::move(set));
    }
  }
  for (auto& [name, inputs] : sets) {
    core::Result<fs::path> in = fresh_folder("in");
    core::Result<fs::path> output = fresh_folder("outputs");
    if (!in || !output) {
      return in ? output.error() : in.error();
    }
    if (core::Status status = model::save_tensors(inputs, *in, "input"); !status) {
      return status;
    }
    judge::Execution execution;
    execution.data_set = name;
    execution.inputs = std::move(inputs);
    execution.reply = converter.execute({evidence.conversion.artifact, *in, *output});
    if (execution.reply.outcome == Outcome::ok) {
      core::Result<core::TensorMap> outputs = model::load_tensors(*output, "output");
      if (outputs) {
        execution.outputs = *std::move(outputs);
      } else {
        // What can't be read is the converter's fault: protocol 1 fixes the files' form.
        execution.reply.outcome = Outcome::crash;
        execution.reply.reason = "protocol: " + outputs.error().message;
      }
    }
    const bool usable = execution.reply.outcome == Outcome::ok;
    evidence.executions.push_back(std::move(execution));
    if (!usable) {
      break;  // the first failure is the verdict; a hanging executor need not hang once per data set
    }
  }
  return core::success();
}

}  // namespace assay::run
