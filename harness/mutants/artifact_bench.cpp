#include "harness/mutants/artifact_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/data/feed_files.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/reference_executor.hpp"
#include "reference/executor.hpp"

namespace assay::mutants {
namespace fs = std::filesystem;
using converters::Outcome;

namespace {

constexpr std::size_t kOneVerdict = 1;  // as in `assay check`

bool ran(const run::Trial& trial) {
  const std::vector<judge::Execution>& executions = trial.evidence.executions;
  return !trial.settled && trial.evidence.artifact_error.empty() && !executions.empty() &&
         std::ranges::all_of(executions,
                             [](const judge::Execution& each) { return each.reply.outcome == Outcome::ok; });
}

std::vector<core::TensorMap> outputs_of(const run::Trial& trial) {
  std::vector<core::TensorMap> outputs;
  for (const judge::Execution& execution : trial.evidence.executions) outputs.push_back(execution.outputs);
  return outputs;
}

core::Error missing(const fs::path& folder, std::string_view what) {
  return {core::ErrorKind::io, fmt::format("folder \"{}\" has no {}", folder.string(), what), {}, {}, {}};
}

/// Data of `stem` in a folder, in either form that `assay check` reads.
core::Result<std::vector<core::TensorMap>> load_batches(const fs::path& folder, const std::string& stem,
                                                        const model::Model& model) {
  for (const fs::path& path : {folder / (stem + ".npz"), folder / stem}) {
    std::error_code code;
    if (fs::exists(path, code)) return data::load_user_data(path, model);
  }
  return missing(folder, fmt::format("{0}.npz and no folder {0}", stem));
}

core::Status save_batches(const std::vector<core::TensorMap>& batches, const fs::path& folder) {
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (core::Status status = data::write_batch(batches[i], data::batch_folder(folder, i), {}); !status) return status;
  }
  return core::success();
}

}  // namespace

ArtifactBench::ArtifactBench(ReadyArtifact ready, std::vector<ArtifactExecutor> executors, run::MadeBy made_by,
                             converters::ArtifactKind kind, core::TemporaryFolder folder)
    : ready_(std::move(ready)),
      executors_(std::move(executors)),
      made_by_(std::move(made_by)),
      kind_(kind),
      folder_(std::move(folder)) {}

core::Result<std::unique_ptr<ArtifactBench>> ArtifactBench::create(ReadyArtifact ready,
                                                                   std::vector<ArtifactExecutor> executors,
                                                                   run::MadeBy made_by, converters::ArtifactKind kind) {
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  std::unique_ptr<ArtifactBench> made(
      new ArtifactBench(std::move(ready), std::move(executors), std::move(made_by), kind, *std::move(folder)));
  const data::UserCase& user = made->ready_.user;
  core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(user.test_case, user.data);
  if (!bench) return bench.error();
  made->bench_ = *std::move(bench);
  for (const core::TensorMap& inputs : user.data->inputs) {
    core::Result<core::TensorMap> outputs = reference::execute(*user.test_case.model, inputs);
    if (!outputs) return outputs.error().within("the reference can't run the float model");
    made->expected_.push_back(*std::move(outputs));
  }
  return made;
}

std::optional<run::Trial> ArtifactBench::attempt(const model::Model& model, std::size_t executor) {
  const fs::path file = folder_.path() / fmt::format("{}.onnx", counter_++);
  if (const core::Status status = model::save_model(model, file); !status) return std::nullopt;
  run::Trial trial = bench_->attempt_artifact(*executors_[executor].converter, executors_[executor].description, file,
                                              ready_.options_json.value_or("{}"), made_by_);
  if (!ran(trial)) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return std::nullopt;
  }
  return trial;
}

judge::Judgement ArtifactBench::judged(run::Trial trial, judge::Depth depth) const {
  trial.evidence.conversion.tensors = ready_.tensors;
  trial.evidence.conversion.precision = ready_.precision;
  if (kind_ == converters::ArtifactKind::qdq) return bench_->judge(std::move(trial), kOneVerdict, depth);
  return bench_->judge(run::seen_as(trial, kind_), kOneVerdict, depth);
}

const Baseline* ArtifactBench::baseline(std::size_t executor) {
  const auto [entry, added] = baselines_.try_emplace(executor);
  std::optional<Baseline>& slot = entry->second;
  if (!added) return slot ? &*slot : nullptr;
  std::optional<run::Trial> trial = attempt(ready_.artifact, executor);
  if (!trial) return nullptr;
  slot.emplace(Baseline{executors_[executor].name, {}, outputs_of(*trial), {}});
  for (const judge::Execution& execution : trial->evidence.executions) slot->data_sets.push_back(execution.data_set);
  slot->judgement = judged(*std::move(trial), judge::Depth::full);
  return &*slot;
}

const Baseline* ArtifactBench::plain() {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    if (const Baseline* found = baseline(i)) return found;
  }
  return nullptr;
}

std::optional<ArtifactBench::Executed> ArtifactBench::execute(const model::Model& model) {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    const Baseline* plain = baseline(i);
    if (plain == nullptr) continue;
    if (std::optional<run::Trial> trial = attempt(model, i)) {
      std::vector<core::TensorMap> outputs = outputs_of(*trial);
      return Executed{plain, std::move(outputs), *std::move(trial)};
    }
  }
  return std::nullopt;
}

judge::Judgement ArtifactBench::judge(const Executed& executed) {
  judge::Judgement judgement = judged(executed.trial, judge::Depth::gate);
  discard(executed);
  return judgement;
}

void ArtifactBench::discard(const Executed& executed) {
  std::error_code ignored;
  fs::remove(executed.trial.evidence.conversion.artifact, ignored);
}

core::Result<ArtifactExecutor> reference_in_place_of(const converters::Description& description) {
  ArtifactExecutor executor;
  executor.converter = programs::make_reference_executor();
  core::Result<converters::Description> own = executor.converter->describe();
  if (!own) return own.error();
  executor.description = description;
  executor.description.supports.execute = true;
  executor.description.supports.trace = own->supports.trace;
  executor.description.policy.arithmetic = own->policy.arithmetic;
  executor.description.policy.deterministic = true;
  executor.name = "reference";
  return executor;
}

core::Result<std::optional<ReadyArtifact>> ready_artifact(run::CaseBench& bench, const corpus::Case& test_case,
                                                          const run::Trial& trial) {
  const judge::Evidence& evidence = trial.evidence;
  const bool usable = !trial.settled && evidence.conversion.outcome == Outcome::ok && evidence.artifact != nullptr &&
                      evidence.calibration != nullptr;
  if (!usable) return std::optional<ReadyArtifact>();
  core::Result<std::vector<run::CaseBench::DataSet>> sets = bench.data_sets(trial);
  if (!sets) return sets.error();
  if (sets->empty()) return std::optional<ReadyArtifact>();
  data::UserData data;
  data.calibration = *evidence.calibration;
  data.calibrated = true;
  for (run::CaseBench::DataSet& set : *sets) data.inputs.push_back(std::move(set.inputs));
  converters::Options options = evidence.options;
  options.cache.clear();
  ReadyArtifact ready{data::user_case_of(test_case.model, test_case.name), *evidence.artifact,
                      converters::options_to_json(options), evidence.conversion.tensors, evidence.conversion.precision};
  ready.user.give(std::move(data));
  return std::optional(std::move(ready));
}

core::Result<ReadyArtifact> load_ready_artifact(const fs::path& folder) {
  core::Result<model::Model> original = model::load_model(folder / "float.onnx");
  if (!original) return original.error();
  core::Result<model::Model> artifact = model::load_model(folder / "q.onnx");
  if (!artifact) return artifact.error();
  data::UserData data;
  data.calibrated = true;
  for (const auto& [stem, batches] : {std::pair{"calibration", &data.calibration}, std::pair{"inputs", &data.inputs}}) {
    core::Result<std::vector<core::TensorMap>> loaded = load_batches(folder, stem, *original);
    if (!loaded) return loaded.error().within(stem);
    *batches = *std::move(loaded);
  }
  ReadyArtifact ready{data::user_case_of(std::make_shared<const model::Model>(*std::move(original)), folder.filename()),
                      *std::move(artifact), std::nullopt};
  ready.user.give(std::move(data));
  const fs::path options = folder / "options.json";
  std::error_code code;
  if (!fs::exists(options, code)) return ready;
  core::Result<std::string> json = core::read_file(options);
  if (!json) return json.error();
  if (const auto parsed = converters::options_from_json(*json); !parsed) {
    return parsed.error().within(options.string());
  }
  ready.options_json = *std::move(json);
  return ready;
}

core::Status keep_artifact(const ArtifactBench& bench, const model::Model& changed, const fs::path& folder) {
  if (core::Status status = core::make_folder(folder); !status) return status;
  if (core::Status status = model::save_model(bench.original(), folder / "float.onnx"); !status) return status;
  if (core::Status status = model::save_model(changed, folder / "q.onnx"); !status) return status;
  if (core::Status status = save_batches(bench.data().calibration, folder / "calibration"); !status) return status;
  if (core::Status status = save_batches(bench.data().inputs, folder / "inputs"); !status) return status;
  if (!bench.options_json()) return core::success();
  return core::write_file(folder / "options.json", *bench.options_json());
}

}  // namespace assay::mutants
