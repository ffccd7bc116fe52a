#pragma once

#include <optional>
#include <string>

#include "harness/cli/common.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/data/user_case.hpp"
#include "harness/run/made_by.hpp"

namespace assay::cli {

/// The options that give a ready artifact instead of a converter, shared by every command that judges a user's model.
struct ArtifactOptions {
  std::string file;     ///< --artifact
  std::string made_by;  ///< --made-by
  [[nodiscard]] bool given() const { return !file.empty(); }
};
/// After add_converter_options(), whose options --artifact excludes.
void add_artifact_options(Command command, ArtifactOptions& options);
/// The same as a command line says them, each with a blank before it.
[[nodiscard]] std::string artifact_words(const ArtifactOptions& options);

/// What a command needs of a float model of the user's beside its data.
struct UserModel {
  data::UserCase user;
  corpus::OptionSet options;
  run::MadeBy made_by;  ///< of the artifact; empty without one
};
/// Loads the model and its data, or a case's where `model` names one and no file, and checks them against the options:
/// nodes that --options and --fault name are there; with an artifact, its file is there and `model` is its float
/// original. Without one, a model that is quantized already is a note on standard error. Errors   as
/// data::make_user_case(); usage; io.
[[nodiscard]] core::Result<UserModel> load_user_model(const std::string& model, const std::string& calibration,
                                                      const std::string& inputs, const std::string& options_json,
                                                      const ConverterOptions& converters,
                                                      const ArtifactOptions& artifact);

}  // namespace assay::cli
