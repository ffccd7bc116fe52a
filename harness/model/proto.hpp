#pragma once

// Private to harness/model: everything that knows protobuf.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::model::proto {

/// Decodes a TensorProto. `folder` is where external data may lie; empty forbids it.
/// Errors   invalid_model when shape and data disagree; unsupported for strings and complex numbers.
[[nodiscard]] core::Result<Tensor> decode_tensor(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                                                 const LoadLimits& limits);
[[nodiscard]] onnx::TensorProto encode_tensor(const std::string& name, const Tensor& tensor);

/// Decodes without normalizing or checking.
[[nodiscard]] core::Result<Model> decode_model(const onnx::ModelProto& proto, const std::filesystem::path& folder,
                                               const LoadLimits& limits);
[[nodiscard]] core::Result<Graph> decode_graph(const onnx::GraphProto& proto, const std::filesystem::path& folder,
                                               const LoadLimits& limits, int depth = 0);
[[nodiscard]] onnx::ModelProto encode_model(const Model& model);

[[nodiscard]] core::Error model_error(std::string message, std::string node = {}, std::string op = {},
                                      std::string tensor = {});

/// `what` ("the graph has 5 nodes") is more than Assay takes.
[[nodiscard]] core::Error limit_error(const std::string& what, std::uintmax_t limit, std::string tensor = {});

}  // namespace assay::model::proto
