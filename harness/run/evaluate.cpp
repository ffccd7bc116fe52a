#include "harness/run/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/files.hpp"
#include "harness/core/forked.hpp"
#include "harness/core/json.hpp"
#include "harness/core/room.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/data/stored_data.hpp"
#include "harness/judge/alignment/decomposed.hpp"
#include "harness/judge/alignment/distributed.hpp"
#include "harness/judge/alignment/equalized.hpp"
#include "harness/judge/alignment/folded_forward.hpp"
#include "harness/judge/alignment/renormalized.hpp"
#include "harness/judge/artifact/evident_options.hpp"
#include "harness/judge/artifact/float_ports.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/evidence/supports.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/run/known_names.hpp"
#include "harness/run/table_scales.hpp"
#include "results/store.hpp"

namespace assay::run {
namespace fs = std::filesystem;
using converters::Outcome;
using judge::Facet;
using judge::Judgement;
using judge::Stage;
using judge::Verdict;

namespace {

/// What was checked, into the verdict: the layer, and for each relation that could be asked whether it holds.
void note_relations(const metamorphic::RelationReport& relations, Judgement& judgement) {
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

/// `error` as the fault of a case, or of the options that it is run under.
core::Error case_error(core::Error error) {
  error.kind = core::ErrorKind::invalid_case;
  return error;
}

/// What an adapter changed before its converter saw it, as a verdict keeps it.
std::string changes_text(const std::vector<std::string>& changed) {
  return changed.empty() ? "" : fmt::format("{}{}", results::kChangedBefore, fmt::join(changed, "; "));
}

/// A ready artifact is run by the reference: what that refuses is beyond the reference, and no defect of the artifact.
void note_own_limit(judge::Evidence& evidence) {
  const auto refused = std::ranges::find(evidence.executions, Outcome::refused,
                                         [](const judge::Execution& each) { return each.reply.outcome; });
  if (refused == evidence.executions.end() || evidence.own_limit) {
    return;
  }
  const converters::ExecuteReply& reply = refused->reply;
  evidence.own_limit =
      core::Error{core::ErrorKind::unsupported,
                  fmt::format("the reference can't run the artifact: {}; an executor that can judges it with "
                              "{} check MODEL --converter NAME",
                              reply.reason, corpus::command_word()),
                  reply.node, reply.op, ""};
  evidence.executions.clear();
}

/// What the artifact of who chooses its precision has in 16-bit floats beside a subgraph, which is not followed.
std::optional<core::Error> unfollowed_halves(const model::Graph& artifact, const judge::Widened& widened) {
  const auto half = std::ranges::find_if(artifact.initializers,
                                         [](const auto& each) { return judge::half_unit(each.second->type()) != 0; });
  if (!widened.units.empty() || half == artifact.initializers.end()) return std::nullopt;
  return core::Error{core::ErrorKind::unsupported,
                     fmt::format("the artifact computes in {} beside subgraphs, which Assay doesn't follow",
                                 core::dtype_name(half->second->type())),
                     {},
                     {},
                     half->first};
}

}  // namespace

CaseBench::CaseBench(const corpus::Case& test_case, core::TemporaryFolder folder, std::optional<data::UserData> data)
    : case_(test_case),
      folder_(std::move(folder)),
      data_(std::move(data)),
      model_file_(folder_.path() / "model.onnx"),
      half_units_(case_.model == nullptr ? decltype(half_units_)() : judge::half_units(*case_.model)),
      references_(judge::make_reference_cache()),
      twins_(folder_.path() / "twins") {}

core::Result<std::unique_ptr<CaseBench>> CaseBench::create(const corpus::Case& test_case,
                                                           std::optional<data::UserData> data,
                                                           const CaseBench* sibling) {
  core::Forked::begin_step();
  if (test_case.model == nullptr) {
    return core::Error{core::ErrorKind::unsupported, test_case.unavailable, {}, {}, {}};
  }
  if (!data && test_case.stored_data) {
    core::Result<data::UserData> stored = data::load_stored_data(*test_case.stored_data, *test_case.model);
    if (!stored) {
      return case_error(stored.error());
    }
    data = *std::move(stored);
  }
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) {
    return folder.error();
  }
  std::unique_ptr<CaseBench> bench(new CaseBench(test_case, *std::move(folder), std::move(data)));
  if (core::Status status = model::save_model(*test_case.model, bench->model_file_); !status) {
    return status.error();
  }
  if (sibling != nullptr) {
    bench->references_ = sibling->references_;
  }
  return bench;
}

core::Status CaseBench::heal() {
  if (!given_.spoiled()) {
    return core::success();
  }
  given_.forget();
  twins_.forget();
  data_sets_.clear();
  for (const auto& [key, feed] : feeds_) {
    feed->folder.clear();  // its batches stay where they are: what was judged may point to them
  }
  core::Result<fs::path> folder = fresh_folder("model");
  if (!folder) {
    return folder.error();
  }
  model_file_ = *folder / "model.onnx";
  return model::save_model(*case_.model, model_file_);
}

core::Result<fs::path> CaseBench::fresh_folder(const std::string& stem) {
  fs::path folder = folder_.path() / fmt::format("{}_{}", stem, counter_++);
  if (core::Status status = core::make_folder(folder); !status) {
    return status.error();
  }
  return folder;
}

core::Result<const data::Feed*> CaseBench::feed(const corpus::FeedSpec& spec) {
  std::unique_ptr<data::Feed>& slot = feeds_[data::feed_key(spec)];
  if (slot != nullptr && !slot->folder.empty()) {
    return static_cast<const data::Feed*>(slot.get());
  }
  core::Result<data::Feed> made = make_feed(spec);
  if (!made) {
    return made.error();
  }
  if (slot == nullptr) {
    slot = std::make_unique<data::Feed>(*std::move(made));
  } else {
    slot->folder = std::move(made->folder);
  }
  return static_cast<const data::Feed*>(slot.get());
}

core::Result<data::Feed> CaseBench::make_feed(const corpus::FeedSpec& spec) {
  if (data_ && data_->feeds.contains(data::feed_key(spec))) {
    data::Feed ready = data_->feeds[data::feed_key(spec)];
    core::Result<fs::path> own = fresh_folder("calibration");
    if (!own) {
      return own.error();
    }
    std::error_code code;
    fs::copy(ready.folder, *own, fs::copy_options::recursive, code);
    if (code) {
      return core::Error{core::ErrorKind::io,
                         fmt::format("\"{}\" can't be copied: {}", ready.folder.string(), code.message()),
                         {},
                         {},
                         {}};
    }
    ready.folder = *std::move(own);
    return ready;
  }
  data::Feed made;
  core::Result<std::vector<core::TensorMap>> batches =
      data_ ? data_->calibration : corpus::calibration_batches(case_, spec);
  if (!batches) {
    return batches.error();
  }
  core::Result<fs::path> folder = fresh_folder("calibration");
  if (!folder) {
    return folder.error();
  }
  made.folder = *folder;
  for (core::TensorMap& batch : *batches) {
    batch = data::as_cut(batch, spec);
  }
  std::size_t whole = batches->size();
  if (spec.stop_after) {
    whole = std::min(whole, static_cast<std::size_t>(std::max(0, *spec.stop_after)));
  }
  for (std::size_t index = 0; index < whole; ++index) {
    const core::TensorMap fed = data::as_fed((*batches)[index], spec);
    if (core::Status status = data::write_batch(fed, data::batch_folder(*folder, index), spec.order); !status) {
      return status.error();
    }
  }
  if (spec.stop_after && whole < batches->size()) {
    if (core::Status status = data::write_broken_batch((*batches)[whole], data::batch_folder(*folder, whole));
        !status) {
      return status.error();
    }
    batches->resize(whole);
  }
  made.batches = *std::move(batches);
  return made;
}

core::Result<data::Feeds> CaseBench::feeds() {
  for (const corpus::Step& step : case_.steps) {
    if (core::Result<const data::Feed*> made = feed(step.feed); !made) {
      return made.error();
    }
  }
  data::Feeds feeds;
  for (const auto& [key, feed] : feeds_) {
    feeds.emplace(key, *feed);
  }
  return feeds;
}

void note_artifact(const fs::path& artifact, Evaluation& out) {
  std::error_code code;
  if (artifact.empty() || !fs::is_regular_file(artifact, code)) {
    return;
  }
  if (const core::Result<std::string> bytes = core::read_file(artifact)) {
    out.artifact_hash = core::sha256_hex(*bytes);
    out.artifact_bytes = bytes->size();
  }
}

Evaluation CaseBench::evaluate(converters::Converter& converter, const converters::Description& description,
                               const std::string& options_json, std::size_t planned_verdicts,
                               const std::function<void()>& converted) {
  const auto begin = std::chrono::steady_clock::now();
  Trial trial = attempt(converter, description, options_json);
  relate(converter, trial);
  if (converted) {
    converted();
  }
  Evaluation out;
  out.conversion = trial.evidence.conversion;
  out.judged_as = trial.judged_as;
  out.artifact_kind = trial.artifact_kind;
  note_artifact(out.conversion.artifact, out);
  judge_into(out, std::move(trial), planned_verdicts);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

void CaseBench::blame_room(Judgement& judgement) const {
  constexpr std::uintmax_t kLeastBytes = std::uintmax_t{1} << 20U;
  if (judgement.gate != judge::Gate::red || judgement.verdict == Verdict::harness_error) {
    return;
  }
  const core::Status room = core::check_room(folder_.path(), kLeastBytes + core::bytes_below(folder_.path()));
  if (room && !core::speaks_of_room(judgement.reason)) {
    return;
  }
  const std::string what = room ? "a file system that the converter writes to is full" : room.error().message;
  judgement = own_fault({core::ErrorKind::io,
                         fmt::format("{}; so this says nothing about the converter:\n{}", what, judgement.reason),
                         {},
                         {},
                         {}});
}

Trial CaseBench::attempt(converters::Converter& converter, const converters::Description& description,
                         const std::string& options_json, const Trial* like) {
  core::Forked::begin_step();
  Trial trial;
  const auto settle = [&](Judgement judgement) {
    trial.settled = std::move(judgement);
    return std::move(trial);
  };
  converters::Options options;
  const auto unsupported = [&](std::string reason) { return settle(not_supported(std::move(reason))); };
  fallen_.reset();
  if (core::Status status = heal(); !status) {
    return settle(own_fault(status.error()));
  }
  fs::path previous_cache;
  const data::Feed* measured = nullptr;  // the last that held data: a cache that is given alone was made from it
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
    if (const core::Status named = check_precision_names(options, case_.model->graph); !named) {
      return settle(own_fault(case_error(named.error().within(case_.name))));
    }
    const bool last = index + 1 == case_.steps.size();
    if (const auto reason = judge::unsupported_reason(description, case_, options, last)) {
      return unsupported(*reason);
    }
    core::Result<std::string> cache = given_cache(converter, options, step, previous_cache);
    if (!cache) {
      return settle(own_fault(cache.error()));
    }
    if (fallen_) {
      return settle(*std::exchange(fallen_, std::nullopt));
    }
    if (!cache->empty()) {
      options.cache = *std::move(cache);
    }
    core::Result<const data::Feed*> data = feed(step.feed);
    if (!data) {
      return settle(own_fault(data.error().within(case_.name + ": calibration")));
    }
    if (step.feed.batches > 0 || measured == nullptr) {
      measured = *data;
    }
    core::Result<fs::path> output = fresh_folder("out");
    if (!output) {
      return settle(own_fault(output.error()));
    }
    judge::Evidence& evidence = trial.evidence;
    evidence.conversion = given_.convert(converter, {model_file_, (*data)->folder, options, *output});
    trial.judged_as = changes_text(evidence.conversion.changed);
    if (description.supports.artifact != converters::ArtifactKind::qdq) note_halves(evidence.conversion.tensors);
    if (!last && evidence.conversion.outcome == Outcome::ok) {
      previous_cache = evidence.conversion.cache;
      continue;
    }
    evidence.test_case = &case_;
    evidence.require_judged = require_judged_;
    evidence.options = options;
    evidence.converter = description;
    evidence.first_batch_bins = description.policy.histogram == converters::HistogramBins::first_batch;
    evidence.model = case_.model.get();
    evidence.calibration = &measured->batches;
    const data::DataOrigin origin = data::origin_of(data_, data::Conversion::here);
    evidence.calibration_source = origin.calibration;
    evidence.inputs_source = origin.inputs;
    evidence.output_folder = *output;
    trial.repeated = like != nullptr && !like->settled && same_conversion(like->evidence, evidence);
    if (!trial.repeated) {
      execute(converter, trial);
    }
    break;
  }
  return trial;
}

/// A network of 16-bit floats may have scales of as many bits: where no artifact shows them, nobody tells their type.
void CaseBench::note_halves(std::vector<converters::TensorScale>& tensors) const {
  for (converters::TensorScale& tensor : tensors) {
    if (const auto unit = half_units_.find(tensor.name); unit != half_units_.end()) tensor.params.unit = unit->second;
  }
}

Judgement CaseBench::judge(Trial trial, std::size_t planned_verdicts, judge::Depth depth) {
  return judge_kept(trial, planned_verdicts, depth);
}

void CaseBench::judge_into(Evaluation& out, Trial trial, std::size_t planned_verdicts) {
  out.judgement = judge_kept(trial, planned_verdicts, depth_);
  if (!detail_.make) return;
  const Judgement& judgement = out.judgement;
  if (!detail_.of_all && judgement.gate != judge::Gate::red && judgement.verdict != Verdict::unjudged) return;
  judge::Explained explained;
  // Judged once more, for where the numbers come from: that is written down only where somebody asks.
  if (!trial.settled) explained = judge::explain(trial.evidence, *references_, planned_verdicts);
  explained.judgement = judgement;
  out.detail = detail_.make(trial, explained);
}

Judgement CaseBench::judge_kept(Trial& trial, std::size_t planned_verdicts, judge::Depth depth) {
  core::Forked::begin_step();
  Judgement judgement;
  if (trial.settled) {
    judgement = *trial.settled;
  } else {
    judgement = judge::judge(trial.evidence, *references_, planned_verdicts, depth);
    note_relations(trial.relations, judgement);
    note_fall(judgement);
  }
  blame_room(judgement);
  return judgement;
}

void CaseBench::note_fall(Judgement& judgement) {
  if (!fallen_) {
    return;
  }
  judgement.verdict = fallen_->verdict;
  judgement.gate = fallen_->gate;
  judgement.stage = fallen_->stage;
  judgement.facet = fallen_->facet;
  judgement.node.clear();
  judgement.op.clear();
  judgement.reason = std::exchange(fallen_, std::nullopt)->reason;
}

judge::Explained CaseBench::explain(Trial trial, std::size_t planned_verdicts) {
  core::Forked::begin_step();
  judge::Explained explained;
  if (trial.settled) {
    explained.judgement = *std::move(trial.settled);
  } else {
    explained = judge::explain(trial.evidence, *references_, planned_verdicts);
    note_relations(trial.relations, explained.judgement);
    note_fall(explained.judgement);
  }
  blame_room(explained.judgement);
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
  if (const core::Status named = check_precision_names(*options, case_.model->graph); !named) {
    return case_error(named.error().within(case_.name));
  }
  judge::Evidence evidence;
  evidence.test_case = &case_;
  evidence.require_judged = require_judged_;
  evidence.options = *std::move(options);
  evidence.converter = description;
  evidence.first_batch_bins = description.policy.histogram == converters::HistogramBins::first_batch;
  evidence.model = case_.model.get();
  if (data_ && data_->calibrated) {
    evidence.calibration = &data_->calibration;
  }
  const data::DataOrigin origin = data::origin_of(data_, data::Conversion::elsewhere);
  evidence.calibration_source = origin.calibration;
  evidence.inputs_source = origin.inputs;
  evidence.conversion.outcome = Outcome::ok;
  return evidence;
}

namespace {

/// Options as JSON with those that the case requires, which go first.
std::string with_case_options(const corpus::Case& test_case, const std::string& options_json) {
  auto options = core::json_or_discarded<nlohmann::ordered_json>(options_json);
  const auto required = core::json_or_discarded<nlohmann::ordered_json>(test_case.options_json);
  if (!options.is_object() || !required.is_object()) return options_json;
  options.update(required);
  return options.dump();
}

}  // namespace

Trial CaseBench::attempt_artifact(converters::Converter& executor, const converters::Description& description,
                                  const fs::path& artifact, const std::string& options_json, const MadeBy& made_by) {
  core::Forked::begin_step();
  Trial trial;
  const std::string stated = with_case_options(case_, options_json);
  core::Result<judge::Evidence> evidence = ready_evidence(description, {}, stated);
  if (!evidence) {
    trial.settled = own_fault(evidence.error());
    return trial;
  }
  trial.evidence = *std::move(evidence);
  trial.evidence.conversion.artifact = artifact;
  trial.evidence.stated_options = stated;
  execute(executor, trial);
  if (trial.evidence.artifact != nullptr) {
    trial.judged_as = settle_maker(trial.evidence, *references_, made_by);
    if (trial.evidence.ports_written) {
      trial.judged_as += std::string(trial.judged_as.empty() ? "" : "; ") +
                         "inputs and outputs converted from and to the original's types by the artifact's own scales";
    }
  }
  trial.evidence.converter.supports.reports.clear();  // whoever made it isn't here to report anything
  note_own_limit(trial.evidence);
  return trial;
}

Evaluation CaseBench::evaluate_artifact(converters::Converter& executor, const converters::Description& description,
                                        const fs::path& artifact, const std::string& options_json,
                                        std::size_t planned_verdicts, const MadeBy& made_by) {
  const auto begin = std::chrono::steady_clock::now();
  Trial trial = attempt_artifact(executor, description, artifact, options_json, made_by);
  relate(executor, trial);
  Evaluation out;
  out.judged_as = trial.judged_as;
  out.artifact_kind = trial.artifact_kind;
  note_artifact(artifact, out);
  judge_into(out, std::move(trial), planned_verdicts);
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
      evidence->stated_options = options_json;
      read_artifact(*evidence);
    }
    const std::vector<std::string> names = data_set_names();
    for (std::size_t index = 0; data_ && index < data_->inputs.size(); ++index) {
      judge::Execution fed;
      fed.data_set = names[index];
      fed.inputs = data_->inputs[index];
      fed.reply.outcome = Outcome::ok;
      evidence->executions.push_back(std::move(fed));
    }
    out.artifact_kind = description.supports.artifact;
    note_artifact(artifact, out);
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
    core::Error error = artifact.error();
    if (!evidence.stated_options) {  // converted: without the folder, another one each time, a cause has one text
      const std::string folder = evidence.conversion.artifact.parent_path().string() + "/";
      const std::size_t at = error.message.find(folder);
      if (at != std::string::npos) error.message.erase(at, folder.size());
    }
    if (error.kind == core::ErrorKind::unsupported) {
      evidence.own_limit = error.within("Assay can't read the artifact");
    } else {
      evidence.artifact_error = error.message;
    }
    return;
  }
  std::shared_ptr<const model::Model> made = std::make_shared<const model::Model>(*std::move(artifact));
  if (evidence.stated_options) {
    const auto given = std::exchange(made, judge::with_float_ports(made, evidence.model->graph));
    evidence.ports_written = made != given;
  }
  const auto widened = judge::widened_halves(made);
  if (!widened) {
    evidence.artifact_error = widened.error().message;
    return;
  }
  const bool may_be_halves = evidence.stated_options || evidence.converter.policy.chooses_int8;
  if (auto halves = unfollowed_halves(made->graph, *widened); halves && may_be_halves) {
    evidence.own_limit = *std::move(halves);
    return;
  }
  evidence.artifact = made;
  for (const auto form_of : {&judge::absorbed, &judge::equalized, &judge::distributed, &judge::folded_forward,
                             &judge::renormalized, &judge::decomposed}) {
    auto form = form_of(*evidence.model, evidence.artifact);
    if (form == nullptr) continue;
    if (evidence.form != nullptr && !evidence.form->uncertainty.empty()) {
      auto further = std::make_shared<judge::OriginalForm>(*form);
      further->uncertainty.insert(evidence.form->uncertainty.begin(), evidence.form->uncertainty.end());
      form = std::move(further);
    }
    evidence.form = std::move(form);
    evidence.model = &evidence.form->model;
  }
  if (evidence.stated_options) {
    const converters::Options shown =
        judge::evident_options(evidence.artifact, *evidence.model, evidence.options, evidence.converter.policy);
    evidence.options = converters::options_from_json(*evidence.stated_options, shown).value();  // was read before
    const auto stated = core::json_or_discarded<nlohmann::json>(*evidence.stated_options);
    if (!stated.contains("weight") && !stated.contains("block_size"))
      evidence.weight_forms = judge::evident_weight_forms(evidence.artifact, *evidence.model);
  }
}

}  // namespace assay::run
