#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/run/user_data.hpp"
#include "reference/executor.hpp"
#include "reference/infer.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string model, inputs, output, dump;
};

core::Status execute_to_files(const Arguments& arguments) {
  const core::Result<model::Model> model = model::load_model(arguments.model);
  if (!model) {
    return model.error();
  }
  if (const core::Status status = reference::check_declarations(*model); !status) {
    return status.error();
  }
  const core::Result<std::vector<core::TensorMap>> batches = run::load_user_data(arguments.inputs, *model);
  if (!batches) {
    return batches.error();
  }
  std::error_code code;
  for (std::size_t index = 0; index < batches->size(); ++index) {
    const std::string sub_folder = batches->size() == 1 ? "" : fmt::format("{:04}", index);
    core::TensorMap intermediates;
    reference::RunOptions options;
    if (!arguments.dump.empty()) {
      options.observe = [&](const std::string& name, const core::Tensor& value) { intermediates[name] = value; };
    }
    const core::Result<core::TensorMap> outputs = reference::execute(*model, (*batches)[index], options);
    if (!outputs) {
      return outputs.error();
    }
    const std::filesystem::path folder = std::filesystem::path(arguments.output) / sub_folder;
    std::filesystem::create_directories(folder, code);
    if (core::Status status = model::save_tensors(*outputs, folder, "output"); !status) {
      return status;
    }
    if (!arguments.dump.empty()) {
      const std::filesystem::path dump = std::filesystem::path(arguments.dump) / sub_folder;
      std::filesystem::create_directories(dump, code);
      if (core::Status status = model::save_tensors(intermediates, dump, "tensor"); !status) {
        return status;
      }
    }
  }
  return core::success();
}

}  // namespace

void register_exec(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("exec", "Run a model in the reference executor (float64, exact integers)");
  command->add_option("model", arguments->model, "ONNX model")->required();
  command->add_option("--inputs", arguments->inputs, "Folder of input_0.pb …, .npz or .npy")->required();
  command->add_option("--output", arguments->output, "Folder for output_0.pb …")->required();
  command->add_option("--dump", arguments->dump, "Folder for every intermediate tensor");
  command->callback([arguments, &action] {
    action = [arguments] {
      const core::Status status = execute_to_files(*arguments);
      return status ? kExitOk : report_error(status.error());
    };
  });
}

}  // namespace assay::cli
