#include "harness/data/feed_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::data {
namespace fs = std::filesystem;

std::string feed_key(const corpus::FeedSpec& spec) {
  std::string key = fmt::format("{}/{}/{}/{}/{}", spec.batches, spec.seed, spec.batch.value_or(-1),
                                spec.stop_after.value_or(-1), spec.last_batch.value_or(-1));
  for (const std::string& name : spec.drop) {
    key += "/drop " + name;
  }
  for (const std::string& name : spec.order) {
    key += "/order " + name;
  }
  for (const auto& [name, value] : spec.poison) {
    key += fmt::format("/poison {} {}", name, value);
  }
  return key;
}

fs::path batch_folder(const fs::path& calibration, std::size_t index) {
  return calibration / fmt::format("{:04}", index);
}

core::Status write_batch(const core::TensorMap& batch, const fs::path& folder, const std::vector<std::string>& order) {
  if (core::Status status = core::make_folder(folder); !status) {
    return status;
  }
  std::vector<std::string> names;
  for (const std::string& name : order) {
    if (batch.contains(name)) {
      names.push_back(name);
    }
  }
  for (const auto& [name, tensor] : batch) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  for (std::size_t index = 0; index < names.size(); ++index) {
    const model::NamedTensor tensor{names[index], batch.find(names[index])->second};
    if (core::Status status = model::save_tensor(tensor, folder / fmt::format("input_{}.pb", index)); !status) {
      return status;
    }
  }
  return core::success();
}

core::Status write_broken_batch(const core::TensorMap& batch, const fs::path& folder) {
  if (core::Status status = write_batch(batch, folder, {}); !status) {
    return status;
  }
  const fs::path first = folder / "input_0.pb";
  core::Result<std::string> bytes = core::read_file(first);
  if (!bytes) {
    return bytes.error();
  }
  return core::write_file(first, std::string_view(*bytes).substr(0, bytes->size() / 2));
}

}  // namespace assay::data
