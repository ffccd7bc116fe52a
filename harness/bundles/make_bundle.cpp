#include "harness/bundles/make_bundle.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <utility>

#include "harness/bundles/bundle_words.hpp"
#include "harness/bundles/recording.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/staging.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/environments.hpp"
#include "harness/programs/subject.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/result_row.hpp"
#include "reference/executor.hpp"
#include "results/machine.hpp"

namespace assay::bundles {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

/// The model as it lies in the bundle: what is judged is what is kept.
core::Status keep_model(corpus::Case& test_case, const fs::path& folder) {
  if (test_case.model == nullptr) return core::usage_error(test_case.unavailable);
  const fs::path file = folder / "model.onnx";
  if (core::Status status = model::save_model(*test_case.model, file); !status) return status;
  core::Result<model::Model> loaded = model::load_model(file);
  if (!loaded) return loaded.error();
  test_case.model = std::make_shared<const model::Model>(*std::move(loaded));
  return core::success();
}

/// The first conversion of a ready artifact: nobody was asked. External data are taken into the file.
core::Result<Conversion> given_artifact(const fs::path& artifact, const fs::path& folder) {
  Conversion given;
  given.folder = folder / "artifact";
  given.reply.artifact = given.folder / artifact.filename();
  given.reply.outcome = converters::Outcome::ok;
  if (core::Status status = core::copy_tree(artifact, given.reply.artifact); !status) return status.error();
  const core::Result<model::Model> original = model::load_model(artifact);
  if (original && !model::load_model(given.reply.artifact)) {
    if (core::Status status = model::save_model(*original, given.reply.artifact); !status) return status.error();
  }
  return given;
}

/// Copies what a converter wrote into the bundle's folder `to`; its reply then names the copies.
core::Result<Conversion> keep_conversion(const Conversion& made, const fs::path& to) {
  Conversion kept{made.reply, to};
  if (core::Status status = core::make_folder(to); !status) return status.error();
  if (core::Status status = core::copy_tree(made.folder, to); !status) return status.error();
  for (fs::path* file : {&kept.reply.artifact, &kept.reply.cache}) {
    if (file->empty()) continue;
    const fs::path inside = file->lexically_relative(made.folder);
    const bool outside = inside.empty() || inside.string().starts_with("..");
    const fs::path copy = to / (outside ? file->filename() : inside);
    std::error_code code;
    if (!fs::exists(copy, code)) {
      if (core::Status status = core::copy_tree(*file, copy); !status) return status.error();
    }
    *file = copy;
  }
  return kept;
}

core::Status keep_conversions(const std::vector<Conversion>& made, Bundle& bundle) {
  for (std::size_t index = 0; index < made.size(); ++index) {
    const bool judged = index + 1 == made.size();
    core::Result<Conversion> kept = keep_conversion(
        made[index], bundle.folder / (judged ? fs::path("artifact") : fs::path("earlier") / std::to_string(index)));
    if (!kept) return kept.error();
    bundle.conversions.push_back(*std::move(kept));
  }
  return core::success();
}

core::Status keep_feeds(run::CaseBench& bench, Bundle& bundle) {
  core::Result<data::Feeds> feeds = bench.feeds();
  if (!feeds) return feeds.error();
  const std::string judged = data::feed_key(bundle.test_case.steps.back().feed);
  std::size_t others = 0;
  for (auto& [key, feed] : *feeds) {
    const fs::path folder = bundle.folder / (key == judged ? "calibration" : fmt::format("calibration_{}", ++others));
    if (core::Status status = core::copy_tree(feed.folder, folder); !status) return status;
    feed.folder = folder;
  }
  bundle.data.feeds = *std::move(feeds);
  return core::success();
}

core::Status save_set(const core::TensorMap& tensors, const fs::path& folder, std::string_view stem) {
  core::Status status = core::make_folder(folder);
  return status ? model::save_tensors(tensors, folder, stem) : status;
}

/// What the float64 reference gives, in its own precision; nothing where it can't run the model.
core::Status keep_expected(const model::Model& model, const core::TensorMap& inputs, const fs::path& folder) {
  core::Result<core::TensorMap> outputs = reference::execute(model, inputs);
  if (!outputs) return core::success();
  for (auto& [name, tensor] : *outputs) {
    if (tensor.is_real()) tensor = std::move(tensor).relabeled(core::DType::float64);
  }
  return save_set(*outputs, folder, "output");
}

core::Status keep_sets(run::CaseBench& bench, const run::Trial& trial, Bundle& bundle) {
  const core::Result<std::vector<run::CaseBench::DataSet>> sets = bench.data_sets(trial);
  if (!sets) return sets.error();
  for (const run::CaseBench::DataSet& set : *sets) {
    bundle.sets.push_back({set.name, std::nullopt, {}});
    core::Status status = save_set(set.inputs, inputs_folder(bundle.folder, set.name), "input");
    if (status) {
      status = keep_expected(*bundle.test_case.model, set.inputs, bundle.folder / "expected" / set.name);
    }
    for (const judge::Execution& execution : trial.evidence.executions) {
      if (!status || execution.data_set != set.name) continue;
      bundle.sets.back().reply = execution.reply;
      status = save_set(execution.outputs, outputs_folder(bundle.folder, set.name), "output");
    }
    if (!status) return status;
  }
  return core::success();
}

/// Traces are asked for while the verdict is made; they are kept as they come.
void keep_traces(judge::Evidence& evidence, Bundle& bundle) {
  if (!evidence.ask_trace) return;
  evidence.ask_trace = [ask = evidence.ask_trace, &bundle](const judge::Execution& execution) {
    core::Result<core::TensorMap> trace = ask(execution);
    for (RecordedSet& set : bundle.sets) {
      if (!trace || set.name != execution.data_set) continue;
      if (!save_set(*trace, trace_folder(bundle.folder, set.name), "trace")) continue;
      for (const auto& [name, tensor] : *trace) set.trace.push_back(name);
    }
    return trace;
  };
}

ordered_json parameters_json(const judge::Explanation& explanation) {
  ordered_json list = ordered_json::array();
  for (const judge::TensorParameters& tensor : explanation.tensors) {
    ordered_json obtained = ordered_json::array();
    for (const core::QuantParams& params : tensor.declared) obtained.push_back(params_json(params));
    list.push_back({{"tensor", tensor.tensor},
                    {"expected", tensor.expected ? params_json(*tensor.expected) : ordered_json(nullptr)},
                    {"obtained", std::move(obtained)}});
  }
  return list;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  const core::Result<std::string> text = core::read_file(file);
  std::istringstream stream(text ? *text : std::string());
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Python packages of the converter's environment and of the layers that it sees; nothing where it has none.
ordered_json packages_json(const programs::ConverterSpec& converter) {
  const std::vector<programs::Environment> all = programs::list_environments();
  const std::string own = converter.name + "-" + converter.version;
  ordered_json packages = ordered_json::object();
  for (const programs::Environment& environment : all) {
    if (environment.name != own) continue;
    std::vector<std::string> names = environment.layers;
    names.push_back(own);
    for (const std::string& name : names) {
      packages[name] = lines_of(programs::environments_folder() / name / "packages.txt");
    }
  }
  return packages;
}

ordered_json facts(const BundleRequest& request, const run::Trial& trial) {
  const results::Machine machine = results::this_machine();
  return {{"options_asked", core::json_or_discarded<ordered_json>(converters::options_to_json(trial.evidence.options))},
          {"environment",
           {{"assay", core::version()},
            {"commit", core::commit()},
            {"cpu", machine.cpu},
            {"features", machine.features},
            {"cores", machine.cores},
            {"system", machine.system},
            {"accelerators", machine.accelerators}}},
          {"converter_command", request.converter.command},
          {"packages", packages_json(request.converter)},
          {"made_by", request.command}};
}

}  // namespace

core::Result<results::ResultRow> make_bundle(const BundleRequest& request, const fs::path& target) {
  if (request.test_case.stored_case || request.converter.is_reference()) {
    return core::usage_error(
        "stored cases of the reference lie in a folder of their own already; bundle takes a converter's");
  }
  if (!request.converter.unavailable.empty()) return core::usage_error(request.converter.unavailable);
  const bool ready = !request.artifact.empty();
  core::Result<programs::Subject> subject =
      ready ? programs::artifact_subject() : programs::describe(request.converter, {.timeout_s = request.timeout_s});
  if (!subject) return subject.error();
  if (!subject->broken.empty()) return core::Error{core::ErrorKind::io, subject->broken, {}, {}, {}};
  core::Result<core::Staging> staging = core::Staging::create(target);
  if (!staging) return staging.error();

  Bundle bundle;
  bundle.folder = staging->path();
  bundle.test_case = request.test_case;
  bundle.options = request.options;
  bundle.options_stated = request.options_stated;
  bundle.ready_artifact = ready;
  bundle.asked = request.asked;
  bundle.description = subject->description;
  bundle.data.calibrated = request.data && request.data->calibrated;
  if (!request.data && !request.test_case.stored_data) bundle.data.inputs_source = judge::DataSource::generated;
  if (request.data) bundle.data.inputs_source = request.data->inputs_source;
  if (core::Status status = keep_model(bundle.test_case, bundle.folder); !status) return status.error();

  const auto begin = std::chrono::steady_clock::now();
  const core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(bundle.test_case, request.data);
  if (!bench) return bench.error();
  Recording recording(ready ? *subject->executor : *subject->client);
  run::Trial trial;
  if (ready) {
    core::Result<Conversion> given = given_artifact(request.artifact, bundle.folder);
    if (!given) return given.error();
    const std::string stated = request.options_stated ? request.options.options_json : "{}";
    trial = (*bench)->attempt_artifact(recording, bundle.description, given->reply.artifact, stated);
    bundle.conversions.push_back(*std::move(given));
  } else {
    trial = (*bench)->attempt(recording, bundle.description, request.options.options_json);
    if (core::Status status = keep_conversions(recording.conversions(), bundle); !status) return status.error();
  }
  if (core::Status status = keep_feeds(**bench, bundle); !status) return status.error();
  if (core::Status status = keep_sets(**bench, trial, bundle); !status) return status.error();
  (*bench)->relate(recording, trial);
  bundle.relations = trial.relations;
  keep_traces(trial.evidence, bundle);

  bundle.facts = facts(request, trial);
  run::Evaluation evaluation;
  evaluation.conversion = trial.evidence.conversion;
  evaluation.artifact_kind = trial.artifact_kind;
  judge::Explained explained = (*bench)->explain(std::move(trial), 1);
  evaluation.judgement = std::move(explained.judgement);
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const results::ResultRow row = run::result_row(
      {bundle.test_case.name, bundle.options.label, bundle.description.name, bundle.description.version},
      bundle.test_case, evaluation,
      subject->client != nullptr ? subject->client->attempts() : std::vector<protocol::Attempt>());
  bundle.verdict = report::result_json(row);
  bundle.facts["artifact_kind"] = row.artifact_kind;
  bundle.facts["parameters"] = parameters_json(explained.explanation);
  if (core::Status status = write_index(bundle); !status) return status.error();
  if (core::Status status = write_words(bundle, target); !status) return status.error();
  if (core::Status status = staging->commit(); !status) return status.error();
  return row;
}

}  // namespace assay::bundles
