#include "harness/cli/artifact_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "harness/cli/print.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/counted.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::cli {
namespace {

/// A model that is quantized already is seldom the float original: with an artifact it is an error where it is
/// quantized no less than that one is, without one a note.
core::Status check_original(const std::string& model, const ArtifactOptions& artifact, const model::Graph& graph) {
  const std::size_t quantized = data::quantized_nodes(graph);
  if (quantized == 0) {
    return core::success();
  }
  const std::string what =
      fmt::format("\"{}\" is quantized already ({} of its {} quantize, dequantize or compute on quantized values)",
                  model, quantized, core::counted(graph.nodes.size(), "node"));
  if (!artifact.given()) {
    print(stderr, "assay: {}; to judge it, give its float original: {} FLOAT.onnx --artifact {}\n", what,
          here("./assay check"), shell_quoted(model));
    return core::success();
  }
  const core::Result<model::Model> made = model::load_model(artifact.file);
  if (made && quantized >= data::quantized_nodes(made->graph)) {
    return core::Error{
        core::ErrorKind::usage,
        what + "; the model in front is the float original: assay check FLOAT.onnx --artifact QUANTIZED.onnx",
        {},
        {},
        {}};
  }
  return core::success();
}

/// The one case that a word names, with its own data, as a model of the user's.
core::Result<data::UserCase> case_as_model(const std::string& word, const std::string& calibration,
                                           const std::string& inputs) {
  if (!calibration.empty() || !inputs.empty()) {
    return core::usage_error(fmt::format("\"{}\" is no ONNX file but a case, which has its own data", word));
  }
  core::Result<Selection> selection = select({word}, "");
  if (!selection) return selection.error();
  if (selection->items.size() != 1 || selection->items.front().test_case.model == nullptr) {
    return core::usage_error(fmt::format("\"{}\" is no ONNX file and {}", word,
                                         selection->items.empty()       ? "no case's name"
                                         : selection->items.size() == 1 ? "its case has no model"
                                                                        : "more than one case"));
  }
  return data::UserCase{std::move(selection->items.front().test_case), {}};
}

}  // namespace

void add_artifact_options(Command command, ArtifactOptions& options) {
  command.add_option("--artifact", options.file, "Judge this Q/DQ model instead of converting")
      .excludes({"--converter", "--converter-cmd", "--fault", "--variant"});
  command
      .add_option(
          "--made-by", options.made_by,
          "NAME[@VERSION][:SETTINGS] of the converter that made --artifact: its stated policy is taken, installed "
          "or not (left out: the known one that explains it)")
      .needs("--artifact");
}

std::string artifact_words(const ArtifactOptions& options) {
  std::string words;
  if (options.given()) words += " --artifact " + shell_quoted(options.file);
  if (!options.made_by.empty()) words += " --made-by " + shell_quoted(options.made_by);
  return words;
}

core::Result<UserModel> load_user_model(const std::string& model, const std::string& calibration,
                                        const std::string& inputs, const std::string& options_json,
                                        const ConverterOptions& converters, const ArtifactOptions& artifact) {
  std::error_code missing;
  const bool is_file = is_model_file(model) || std::filesystem::exists(model, missing);
  core::Result<data::UserCase> user =
      is_file ? data::make_user_case(model, calibration, inputs) : case_as_model(model, calibration, inputs);
  if (!user) return user.error();
  const core::Result<converters::Options> options = converters::options_from_json(options_json);
  if (!options) return options.error();
  const model::Graph& graph = user->test_case.model->graph;
  if (const core::Status named = check_named_nodes(converters, *options, graph, !artifact.given()); !named) {
    return named.error();
  }
  if (const core::Status original = check_original(model, artifact, graph); !original) return original.error();
  UserModel out{*std::move(user), {converters::options_label(*options), options_json}, {}};
  if (!artifact.given()) return out;
  std::error_code code;
  if (!std::filesystem::is_regular_file(artifact.file, code)) {
    return core::Error{
        core::ErrorKind::io, fmt::format("artifact \"{}\" is not a readable file", artifact.file), {}, {}, {}};
  }
  core::Result<run::MadeBy> made_by = run::made_by(artifact.made_by);
  if (!made_by) return made_by.error();
  out.made_by = *std::move(made_by);
  return out;
}

}  // namespace assay::cli
