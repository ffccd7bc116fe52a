#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/core/files.hpp"
#include "harness/model/proto.hpp"

namespace assay::model {
namespace fs = std::filesystem;

core::Result<NamedTensor> load_tensor(const fs::path& path) {
  const LoadLimits limits;
  std::error_code code;
  if (const std::uintmax_t size = fs::file_size(path, code); !code && size > limits.file_bytes) {
    return proto::limit_error(fmt::format("\"{}\" has {} bytes", path.string(), size), limits.file_bytes);
  }
  core::Result<std::string> bytes = core::read_file(path, limits.file_bytes);
  if (!bytes) {
    return bytes.error();
  }
  return load_tensor_bytes(*bytes, path);
}

core::Result<NamedTensor> load_tensor_bytes(std::string_view bytes, const fs::path& path) {
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("\"{}\" is not an ONNX TensorProto: truncated or another format", path.string()),
                       {},
                       {},
                       {}};
  }
  core::Result<Tensor> tensor = proto::decode_tensor(proto, {}, LoadLimits());
  if (!tensor) {
    core::Error error = tensor.error().within(path.string());
    const bool known_type = core::element_size_bits(static_cast<core::DType>(proto.data_type())) != 0;
    if (error.kind != core::ErrorKind::unsupported || !known_type) {
      error.kind = core::ErrorKind::invalid_data;
    }
    return error;
  }
  return NamedTensor{proto.name(), *std::move(tensor)};
}

std::string serialize_tensor(const NamedTensor& tensor) {
  return proto::encode_tensor(tensor.name, tensor.tensor).SerializeAsString();
}

core::Status save_tensor(const NamedTensor& tensor, const fs::path& path) {
  return core::write_file(path, serialize_tensor(tensor));
}

namespace {
core::Result<TensorMap> load_tensors(const fs::path& folder, std::string_view stem, std::vector<fs::path>& files) {
  const auto invalid = [](std::string message, std::string tensor = {}) {
    return core::Error{core::ErrorKind::invalid_data, std::move(message), {}, {}, std::move(tensor)};
  };
  std::error_code code;
  const std::string prefix = std::string(stem) + "_";
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".pb")) {
      files.push_back(it->path());
    }
  }
  if (code) {
    return invalid(fmt::format("\"{}\" is not a readable folder: {}", folder.string(), code.message()));
  }
  std::sort(files.begin(), files.end());
  TensorMap tensors;
  for (const fs::path& file : files) {
    core::Result<NamedTensor> tensor = load_tensor(file);
    if (!tensor) {
      return tensor.error();
    }
    if (tensor->name.empty()) {
      return invalid(fmt::format("\"{}\" carries no tensor name; tensors are bound by name", file.string()));
    }
    if (!tensors.emplace(tensor->name, std::move(tensor->tensor)).second) {
      return invalid(fmt::format("\"{}\" holds tensor \"{}\" a second time", file.string(), tensor->name),
                     tensor->name);
    }
  }
  return tensors;
}

}  // namespace

core::Result<TensorMap> load_tensors(const fs::path& folder, std::string_view stem) {
  std::vector<fs::path> files;
  return load_tensors(folder, stem, files);
}

core::Result<TensorMap> take_tensors(const fs::path& folder, std::string_view stem) {
  std::vector<fs::path> files;
  core::Result<TensorMap> tensors = load_tensors(folder, stem, files);
  core::remove_folder(folder, files);
  return tensors;
}

core::Status save_tensors(const TensorMap& tensors, const fs::path& folder, std::string_view stem) {
  std::size_t index = 0;
  for (const auto& [name, tensor] : tensors) {
    const fs::path file = folder / fmt::format("{}_{}.pb", stem, index++);
    if (core::Status status = core::write_new_file(file, proto::encode_tensor(name, tensor).SerializeAsString());
        !status) {
      return status;
    }
  }
  return core::success();
}

}  // namespace assay::model
