#include "harness/model/onnx_io.hpp"

#include <fmt/format.h>

#include "harness/core/files.hpp"
#include "harness/model/proto.hpp"

namespace assay::model {

core::Result<Model> load_model(const std::filesystem::path& path, const LoadLimits& limits) {
  std::error_code code;
  if (const std::uintmax_t size = std::filesystem::file_size(path, code); !code && size > limits.file_bytes) {
    return proto::limit_error(fmt::format("\"{}\" has {} bytes", path.string(), size), limits.file_bytes);
  }
  core::Result<std::string> bytes = core::read_file(path, limits.file_bytes);
  if (!bytes) {
    return bytes.error();
  }
  const std::filesystem::path folder = path.parent_path();
  core::Result<Model> model = load_model_bytes(*bytes, folder.empty() ? "." : folder, limits);
  if (!model) {
    return model.error().within(path.string());
  }
  return model;
}

core::Result<Model> load_model_bytes(std::string_view bytes, const std::filesystem::path& folder,
                                     const LoadLimits& limits) {
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return proto::model_error(
        fmt::format("{} bytes that are not an ONNX model: truncated or another format", bytes.size()));
  }
  core::Result<Model> model = proto::decode_model(proto, folder, limits);
  if (!model) {
    return model;
  }
  if (core::Status status = normalize(model->graph); !status) {
    return status.error();
  }
  if (core::Status status = check_model(*model); !status) {
    return status.error();
  }
  return model;
}

std::string serialize_model(const Model& model) { return proto::encode_model(model).SerializeAsString(); }

core::Status save_model(const Model& model, const std::filesystem::path& path) {
  return core::write_file(path, serialize_model(model));
}

}  // namespace assay::model
