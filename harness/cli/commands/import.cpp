#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/new_cases/import.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  new_cases::ImportRequest request;
  std::string into;
};

int import_command(const ImportArguments& arguments) {
  const core::Result<std::vector<new_cases::CaseDraft>> drafts = new_cases::import_drafts(arguments.request);
  if (!drafts) return report_error(drafts.error());
  std::vector<new_cases::StagedCase> staged;
  for (const new_cases::CaseDraft& draft : *drafts) {
    core::Result<new_cases::StagedCase> each = new_cases::StagedCase::create(draft);
    if (!each) return report_error(each.error().within(draft.name));
    staged.push_back(*std::move(each));
  }
  const fs::path folder = arguments.into.empty() ? corpus::home() / "cases" / "imported" : fs::path(arguments.into);
  std::vector<const new_cases::StagedCase*> written;
  for (const new_cases::StagedCase& each : staged) {
    const core::Result<fs::path> file = each.commit(folder);
    if (!file) {
      for (const new_cases::StagedCase* earlier : written) earlier->withdraw(folder);
      return report_error(file.error());
    }
    written.push_back(&each);
  }
  for (const new_cases::StagedCase* each : written) {
    print("imported {}: {}\n", each->test_case().name, (folder / (each->test_case().family + ".json")).string());
  }
  if (!arguments.request.float_original.empty()) {
    const std::string stem = (folder / drafts->front().name).string();
    print("judge it against its original: {} {} --artifact {}\n", here("./assay check"),
          shell_quoted(stem + ".float.onnx"), shell_quoted(stem + ".onnx"));
  }
  if (arguments.into.empty()) print("run: {} 'cases/imported/*'\n", here("./assay run"));
  return kExitOk;
}

}  // namespace

void register_import(Command app, Action& action) {
  auto arguments = std::make_shared<ImportArguments>();
  const Command command =
      app.add_subcommand("import", "Make cases of ONNX test folders, Polygraphy input files and Q/DQ exports");
  command
      .add_option("path", arguments->request.path,
                  "Folder of model.onnx and test_data_set_0 …, a folder of such folders, or a model file")
      .required();
  command.add_option("--load-inputs", arguments->request.inputs,
                     "For a model file: data that Polygraphy saved with --save-inputs (JSON)");
  command.add_option("--float", arguments->request.float_original, "For a Q/DQ export: its float original");
  command.add_option("--name", arguments->request.name, "Name of the case (left out: that of the folder or file)");
  command.add_option("--into", arguments->into, "Folder to write to (left out: cases/imported)");
  command.callback([arguments, &action] { action = [arguments] { return import_command(*arguments); }; });
}

}  // namespace assay::cli
