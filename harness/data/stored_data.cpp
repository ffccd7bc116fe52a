#include "harness/data/stored_data.hpp"

#include <fmt/format.h>

#include "harness/core/files.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::data {
namespace fs = std::filesystem;

namespace {

fs::path set_folder(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("test_data_set_{}", index);
}

}  // namespace

core::Result<UserData> load_stored_data(const fs::path& folder, const model::Model& model) {
  UserData data;
  std::error_code code;
  for (std::size_t index = 0; fs::is_directory(set_folder(folder, index), code); ++index) {
    core::Result<std::vector<core::TensorMap>> set = load_user_data(set_folder(folder, index), model);
    if (!set) return set.error();
    data.inputs.push_back(std::move(set->front()));
  }
  if (data.inputs.empty()) {
    return core::Error{
        core::ErrorKind::invalid_data, fmt::format("\"{}\" holds no test_data_set_0", folder.string()), {}, {}, {}};
  }
  data.calibration = data.inputs;
  if (fs::is_directory(folder / "calibration", code)) {
    core::Result<std::vector<core::TensorMap>> batches = load_user_data(folder / "calibration", model);
    if (!batches) return batches.error();
    data.calibration = *std::move(batches);
    data.calibrated = true;
  }
  return data;
}

core::Status save_stored_data(const UserData& data, const fs::path& folder) {
  core::Status status = core::success();
  for (std::size_t index = 0; status && index < data.inputs.size(); ++index) {
    status = write_batch(data.inputs[index], set_folder(folder, index), {});
  }
  for (std::size_t index = 0; status && data.calibrated && index < data.calibration.size(); ++index) {
    status = write_batch(data.calibration[index], batch_folder(folder / "calibration", index), {});
  }
  return status;
}

}  // namespace assay::data
