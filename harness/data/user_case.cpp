#include "harness/data/user_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/corpus/data_sets.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"

namespace assay::data {
namespace {

constexpr std::int64_t kFreeBatch = 1;
constexpr std::int64_t kFreeExtent = 32;
constexpr std::size_t kInputsFromCalibration = 4;

corpus::InputSpec generated_input(const model::ValueInfo& info, const model::Graph& graph) {
  corpus::InputSpec spec;
  spec.data_sets = corpus::usual_data_sets(graph);
  if (info.shape) {
    spec.shape.emplace();
    for (const model::Dimension& dimension : *info.shape) {
      spec.shape->push_back(dimension.value.value_or(spec.shape->empty() ? kFreeBatch : kFreeExtent));
    }
  }
  return spec;
}

bool is_scale_input(const model::Node& node, std::size_t index) {
  if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") return index == 1;
  const bool twice = node.op_type == "QLinearConv" || node.op_type == "QLinearMatMul";
  return twice && (index == 1 || index == 4 || index == 6);
}

/// A scale that is no positive number: nothing could be computed with it, by whatever converter.
core::Status check_scales(const model::Graph& graph) {
  for (const model::Node& node : graph.nodes) {
    for (std::size_t index = 0; index < node.inputs.size(); ++index) {
      const auto scale = graph.initializers.find(node.inputs[index]);
      if (!is_scale_input(node, index) || scale == graph.initializers.end() || !scale->second->is_real()) continue;
      const auto values = scale->second->reals();
      const auto bad = std::ranges::find_if(values, [](double value) { return !(value > 0) || std::isinf(value); });
      if (bad == values.end()) continue;
      return core::Error{
          core::ErrorKind::invalid_model,
          fmt::format("node \"{}\" ({}): element {} of its scale \"{}\" is {}; ONNX asks for positive finite "
                      "scales. The model is wrong before anything is converted: export it again, or give "
                      "its float original",
                      node.name, node.op_type, bad - values.begin(), node.inputs[index], core::exact_text64(*bad)),
          node.name, node.op_type, node.inputs[index]};
    }
  }
  return core::success();
}

std::string extents_text(const model::ValueInfo& info) {
  std::string text;
  for (const model::Dimension& dimension : *info.shape) {
    text += (text.empty() ? "" : ",") + (dimension.value            ? std::to_string(*dimension.value)
                                         : dimension.symbol.empty() ? "?"
                                                                    : dimension.symbol);
  }
  return "[" + text + "]";
}

/// Whether the model takes data of the extents that were chosen for those that it leaves open.
core::Status check_open_extents(const UserCase& user) {
  model::Model bound = *user.test_case.model;
  std::string open;
  for (model::ValueInfo& info : bound.graph.inputs) {
    if (!info.shape) continue;
    const std::string declared = extents_text(info);
    const std::optional<std::vector<std::int64_t>>& chosen = user.test_case.inputs.at(info.name).shape;
    for (std::size_t axis = 0; axis < info.shape->size(); ++axis) {
      (*info.shape)[axis] = model::Dimension{(*chosen)[axis], ""};
    }
    if (extents_text(info) != declared) {
      open += fmt::format("{}\"{}\" is {}, {} was taken", open.empty() ? "" : "; ", info.name, declared,
                          extents_text(info));
    }
  }
  if (open.empty()) return core::success();
  const auto shapes = reference::infer_shapes(bound);
  if (shapes) return core::success();
  return core::Error{core::ErrorKind::invalid_data,
                     fmt::format("no data are given, and the model does not take those that were made up for its open "
                                 "extents ({}): {}. Give data of a shape that it takes with --calibration or --inputs",
                                 open, shapes.error().message),
                     shapes.error().node, shapes.error().op, ""};
}

}  // namespace

std::size_t quantized_nodes(const model::Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.nodes, [](const model::Node& node) {
    return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" ||
           node.op_type.starts_with("QLinear") || node.op_type.ends_with("Integer");
  }));
}

void UserCase::give(UserData given) {
  for (auto& [name, spec] : test_case.inputs) {
    spec.data_sets = {"typical"};
  }
  data = std::move(given);
}

UserCase user_case_of(std::shared_ptr<const model::Model> model, const std::string& name) {
  UserCase user;
  user.test_case.name = name;
  user.test_case.family = "check";
  user.test_case.title = "a model of the user's";
  user.test_case.tags = {"imported"};  // data that discriminate little are no fault of ours
  user.test_case.steps = {corpus::Step{}};
  user.test_case.content_hash = core::sha256_hex(model::serialize_model(*model));
  for (const model::ValueInfo& info : model->graph.inputs) {
    user.test_case.inputs[info.name] = generated_input(info, model->graph);
  }
  user.test_case.model = std::move(model);
  return user;
}

core::Result<UserCase> make_user_case(const std::filesystem::path& path, const std::string& calibration,
                                      const std::string& inputs) {
  core::Result<model::Model> loaded = model::load_model(path);
  if (!loaded) {
    return loaded.error();
  }
  if (const core::Status status = reference::check_declarations(*loaded); !status) {
    return status.error();
  }
  if (const core::Status status = check_scales(loaded->graph); !status) {
    return status.error().within(path.string());
  }
  const auto model = std::make_shared<const model::Model>(*std::move(loaded));
  UserCase user = user_case_of(model, path.filename().string());
  user.test_case.file = path;
  if (calibration.empty() && inputs.empty()) {
    if (const core::Status status = check_open_extents(user); !status) {
      return status.error().within(path.string());
    }
    return user;
  }
  UserData given;
  given.calibrated = !calibration.empty();
  given.inputs_source = inputs.empty() ? judge::DataSource::stands_in : judge::DataSource::given;
  user.give(std::move(given));
  if (!calibration.empty()) {
    core::Result<std::vector<core::TensorMap>> batches = load_user_data(calibration, *model);
    if (!batches) {
      return batches.error().within("calibration");
    }
    user.data->calibration = *std::move(batches);
  }
  if (!inputs.empty()) {
    core::Result<std::vector<core::TensorMap>> batches = load_user_data(inputs, *model);
    if (!batches) {
      return batches.error().within("inputs");
    }
    user.data->inputs = *std::move(batches);
  }
  if (calibration.empty()) {
    user.data->calibration = user.data->inputs;
  } else if (inputs.empty()) {
    user.data->inputs = user.data->calibration;
    if (user.data->inputs.size() > kInputsFromCalibration) {
      user.data->inputs.resize(kInputsFromCalibration);
    }
  }
  return user;
}

}  // namespace assay::data
