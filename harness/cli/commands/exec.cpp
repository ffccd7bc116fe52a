#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/core/files.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "reference/infer.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ExecArguments {
  std::string model, inputs, output = "outputs", dump;
};

/// "tensor_0012_conv1_weight.pb": a number that keeps the order in which tensors are made, then as much of the name as
/// any file system takes. The file itself carries the name.
std::string dump_file(std::size_t number, std::string name) {
  constexpr std::size_t kLongest = 80;
  name.resize(std::min(name.size(), kLongest));
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ? c : '_';
  }
  return fmt::format("tensor_{:04}_{}.pb", number, name);
}

/// Writes what nodes make as soon as it is made, so that it needs no memory.
class Dump {
 public:
  Dump(const model::Graph& graph, fs::path folder) : graph_(graph), folder_(std::move(folder)) {}

  void write(const std::string& name, const core::Tensor& value) {
    if (!status_ || graph_.find_input(name) != nullptr || graph_.initializers.contains(name)) {
      return;
    }
    status_ = model::save_tensor({name, value}, folder_ / dump_file(written_++, name));
  }
  [[nodiscard]] const core::Status& status() const { return status_; }

 private:
  const model::Graph& graph_;
  fs::path folder_;
  std::size_t written_ = 0;
  core::Status status_ = core::success();
};

/// Runs one batch; `dump_to` is empty where nobody asks for the intermediate tensors.
core::Status execute_batch(const model::Model& model, const core::TensorMap& inputs, const fs::path& output,
                           const fs::path& dump_to) {
  for (const fs::path& folder : {output, dump_to}) {
    if (core::Status status = folder.empty() ? core::success() : core::make_folder(folder); !status) {
      return status;
    }
  }
  Dump dump(model.graph, dump_to);
  reference::RunOptions options;
  if (!dump_to.empty()) {
    options.observe = [&dump](const std::string& name, const core::Tensor& value) { dump.write(name, value); };
  }
  const core::Result<core::TensorMap> outputs = reference::execute(model, inputs, options);
  if (!outputs) {
    return outputs.error();
  }
  return dump.status() ? model::save_tensors(*outputs, output, "output") : dump.status();
}

core::Status execute_to_files(const ExecArguments& arguments) {
  const core::Result<model::Model> model = model::load_model(arguments.model);
  if (!model) {
    return model.error();
  }
  if (const core::Status status = reference::check_declarations(*model); !status) {
    return status.error();
  }
  core::Result<std::vector<core::TensorMap>> batches = std::vector<core::TensorMap>(1);
  if (!arguments.inputs.empty()) {
    batches = data::load_user_data(arguments.inputs, *model, data::NonFinite::kept);
  }
  if (!batches) {
    return batches.error();
  }
  for (std::size_t index = 0; index < batches->size(); ++index) {
    const std::string sub_folder = batches->size() == 1 ? "" : fmt::format("{:04}", index);
    const fs::path dump = arguments.dump.empty() ? fs::path() : fs::path(arguments.dump) / sub_folder;
    if (core::Status status = execute_batch(*model, (*batches)[index], fs::path(arguments.output) / sub_folder, dump);
        !status) {
      return batches->size() == 1 ? status.error() : status.error().within(fmt::format("batch {}", index));
    }
  }
  return core::success();
}

}  // namespace

void register_exec(Command app, Action& action) {
  auto arguments = std::make_shared<ExecArguments>();
  const Command command = app.add_subcommand(
      "exec", "Run a model in the reference executor (float64, exact integers) and write what it gives");
  command.add_option("model", arguments->model, "ONNX model").required();
  command.add_option("--inputs", arguments->inputs,
                     "Folder of input_0.pb … or of such folders 0000 …, .npz, or .npy for one input; left out only "
                     "for a model without inputs");
  command.add_option("--output", arguments->output,
                     "Folder for output_0.pb …, each with its tensor's name; below it 0000 … for several batches");
  command.add_option("--dump", arguments->dump,
                     "Folder for every tensor that a node of the main graph makes, tensor_0000_NAME.pb … in order");
  command.callback([arguments, &action] {
    action = [arguments] {
      const core::Status status = execute_to_files(*arguments);
      return status ? kExitOk : report_error(status.error());
    };
  });
}

}  // namespace assay::cli
