#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "converters/protocol/client.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/confined.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/case.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/data/user_case.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/subject.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  std::string model, calibration, output;
  std::string options = "{}";
  ConverterOptions converters;
  double timeout_s = 600;
  bool json = false;
};

core::Status write_calibration(const data::UserCase& user, const fs::path& folder) {
  const core::Result<std::vector<core::TensorMap>> batches =
      user.data ? user.data->calibration : corpus::calibration_batches(user.test_case, corpus::FeedSpec{});
  if (!batches) {
    return batches.error();
  }
  for (std::size_t index = 0; index < batches->size(); ++index) {
    if (core::Status status = data::write_batch((*batches)[index], data::batch_folder(folder, index), {}); !status) {
      return status;
    }
  }
  return core::success();
}

/// From the only folder that the converter could write to, to where they are wanted, in place of what has these names
/// there.
core::Status move_files(const fs::path& from, const fs::path& to, converters::ConvertReply& reply) {
  std::error_code code;
  for (fs::directory_iterator entry(from, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path target = to / entry->path().filename();
    std::error_code ignored;
    fs::remove_all(target, ignored);
    if (core::Status copied = core::copy_tree(entry->path(), target); !copied) return copied;
  }
  for (fs::path* file : {&reply.artifact, &reply.cache}) {
    if (!file->empty()) *file = to / file->lexically_relative(from);
  }
  return core::success();
}

core::Result<converters::ConvertReply> convert(const ConvertArguments& arguments) {
  const core::Result<data::UserCase> user = data::make_user_case(arguments.model, arguments.calibration, "");
  if (!user) {
    return user.error();
  }
  print(stderr, "{}\n", data::calibration_line(*user, data::Conversion::here));
  const core::Result<converters::Options> options = converters::options_from_json(arguments.options);
  if (!options) {
    return options.error();
  }
  if (const core::Status named = check_named_nodes(arguments.converters, *options, user->test_case.model->graph);
      !named) {
    return named.error();
  }
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters(arguments.converters, {"embedded"});
  if (!specs) {
    return specs.error();
  }
  if (specs->size() != 1 || !specs->front().unavailable.empty()) {
    return core::Error{core::ErrorKind::usage,
                       specs->size() != 1 ? "convert takes one converter" : specs->front().unavailable,
                       {},
                       {},
                       {}};
  }
  const core::Result<core::TemporaryFolder> job = core::TemporaryFolder::create();
  if (!job) {
    return job.error();
  }
  const fs::path model = job->path() / "model.onnx";
  const fs::path calibration = job->path() / "calibration";
  if (core::Status status = model::save_model(*user->test_case.model, model); !status) {
    return status.error();
  }
  if (core::Status status = write_calibration(*user, calibration); !status) {
    return status.error();
  }
  if (core::Status status = core::make_folder(arguments.output); !status) {
    return status.error();
  }
  const std::unique_ptr<protocol::Client> client =
      programs::start_client(specs->front(), {.timeout_s = arguments.timeout_s, .memory_bytes = 0});
  if (const core::Result<converters::Description> description = client->describe(); !description) {
    return description.error();
  }
  const fs::path made = job->path() / "output";
  if (core::Status status = core::make_folder(made); !status) {
    return status.error();
  }
  converters::ConvertReply reply = client->convert({model, calibration, *options, made});
  if (core::Status moved = move_files(made, fs::absolute(arguments.output), reply); !moved) {
    return moved.error();
  }
  return reply;
}

nlohmann::ordered_json reply_json(const converters::ConvertReply& reply) {
  nlohmann::ordered_json json;
  json["outcome"] = converters::outcome_name(reply.outcome);
  json["artifact"] = reply.artifact.string();
  json["cache"] = reply.cache.string();
  json["node"] = reply.node;
  json["op"] = reply.op;
  json["reason"] = reply.reason;
  json["precision"] = nlohmann::ordered_json::array();
  for (const converters::NodePrecision& each : reply.precision) {
    json["precision"].push_back({{"node", each.node}, {"op", each.op}, {"got", each.got}});
  }
  json["tensors"] = reply.tensors.size();
  return json;
}

int convert_command(const ConvertArguments& arguments) {
  const core::Result<converters::ConvertReply> reply = convert(arguments);
  if (!reply) {
    return report_error(reply.error());
  }
  if (arguments.json) {
    print("{}\n", reply_json(*reply).dump());
  } else if (reply->outcome == converters::Outcome::ok) {
    print("artifact: {}\n", reply->artifact.string());
    std::size_t integer = 0;
    for (const converters::NodePrecision& each : reply->precision) {
      integer += each.got == "int8" ? 1U : 0U;
    }
    print("{} of {} in int8, {} with a scale\n", integer, core::counted(reply->precision.size(), "node"),
          core::counted(reply->tensors.size(), "tensor"));
  } else {
    print(stderr, "assay: {}: node \"{}\" ({}): {}\n", converters::outcome_name(reply->outcome), reply->node, reply->op,
          reply->reason);
  }
  return reply->outcome == converters::Outcome::ok ? kExitOk : kExitRed;
}

}  // namespace

void register_convert(Command app, Action& action) {
  auto arguments = std::make_shared<ConvertArguments>();
  const Command command = app.add_subcommand("convert", "Convert a model and keep the artifact");
  command.add_option("model", arguments->model, "Float or Q/DQ ONNX model").required();
  add_converter_options(command, arguments->converters);
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--output", arguments->output, "Folder for what the converter writes").required();
  command.add_option("--options", arguments->options, "Converter options as JSON");
  command.add_option("--timeout", arguments->timeout_s, "Seconds for the conversion").check(Check::positive);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return convert_command(*arguments); }; });
}

}  // namespace assay::cli
