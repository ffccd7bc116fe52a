#include "harness/data/user_case.hpp"

#include "harness/core/text.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"

namespace assay::data {
namespace {

constexpr std::int64_t kFreeBatch = 1;
constexpr std::int64_t kFreeExtent = 32;
constexpr std::size_t kInputsFromCalibration = 4;

corpus::InputSpec generated_input(const model::ValueInfo& info) {
  corpus::InputSpec spec;
  spec.data_sets = {"typical", "saturate"};
  if (info.shape) {
    spec.shape.emplace();
    for (const model::Dimension& dimension : *info.shape) {
      spec.shape->push_back(dimension.value.value_or(spec.shape->empty() ? kFreeBatch : kFreeExtent));
    }
  }
  return spec;
}

}  // namespace

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
    user.test_case.inputs[info.name] = generated_input(info);
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
  const auto model = std::make_shared<const model::Model>(*std::move(loaded));
  UserCase user = user_case_of(model, path.filename().string());
  user.test_case.file = path;
  if (calibration.empty() && inputs.empty()) {
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
