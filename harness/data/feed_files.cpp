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
  for (const double width : spec.widths) {
    key += fmt::format("/width {}", width);
  }
  for (const auto& [name, value] : spec.poison) {
    key += fmt::format("/poison {} {}", name, value);
  }
  for (const auto& [name, type] : spec.types) {
    key += fmt::format("/type {} {}", name, type);
  }
  for (const auto& [name, shape] : spec.shapes) {
    key += fmt::format("/shape {} {}", name, core::shape_text(shape));
  }
  for (const std::string& name : spec.extra) {
    key += "/extra " + name;
  }
  return key;
}

namespace {

/// `tensor` in another element type, rounded to what that holds.
core::Tensor in_type(const core::Tensor& tensor, core::DType type) {
  if (core::is_real(type)) {
    return core::rounded_to_type(core::Tensor(type, tensor.shape(), tensor.to_reals()));
  }
  return {type, tensor.shape(), tensor.to_integers()};
}

template <typename T>
std::vector<T> repeated(std::span<const T> values, std::int64_t count) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count && !values.empty(); ++i) {
    out.push_back(values[static_cast<std::size_t>(i) % values.size()]);
  }
  return out;
}

core::Tensor in_shape(const core::Tensor& tensor, const core::Shape& shape) {
  const std::int64_t count = core::element_count(shape);
  return tensor.is_real() ? core::Tensor(tensor.type(), shape, repeated(tensor.reals(), count))
                          : core::Tensor(tensor.type(), shape, repeated(tensor.integers(), count));
}

}  // namespace

core::TensorMap as_cut(const core::TensorMap& batch, const corpus::FeedSpec& spec) {
  core::TensorMap cut = batch;
  for (const auto& [name, type] : spec.types) {
    if (const auto found = cut.find(name); found != cut.end()) {
      found->second = in_type(in_type(found->second, *core::parse_dtype(type)), found->second.type());
    }
  }
  return cut;
}

core::TensorMap as_fed(const core::TensorMap& batch, const corpus::FeedSpec& spec) {
  constexpr double kLarger = 8;
  core::TensorMap fed = batch;
  const auto first = std::ranges::find_if(batch, [](const auto& each) { return each.second.is_real(); });
  for (const std::string& name : spec.extra) {
    core::Tensor tensor = first == batch.end() ? core::Tensor::zeros(core::DType::float32, {1}) : first->second;
    for (double& value : tensor.reals()) {
      value *= kLarger;
    }
    fed.insert_or_assign(name, std::move(tensor));
  }
  for (const auto& [name, shape] : spec.shapes) {
    if (const auto found = fed.find(name); found != fed.end()) {
      found->second = in_shape(found->second, shape);
    }
  }
  for (const auto& [name, type] : spec.types) {
    if (const auto found = fed.find(name); found != fed.end()) {
      found->second = in_type(found->second, *core::parse_dtype(type));
    }
  }
  return fed;
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
