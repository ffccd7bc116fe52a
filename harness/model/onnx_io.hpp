#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::model {

/// Limits that keep a lying or hostile file from taking the machine.
struct LoadLimits {
  std::uintmax_t file_bytes = (std::uintmax_t{2} << 30U) - 1;  ///< what protobuf reads
  std::int64_t tensor_elements = std::int64_t{1} << 28U;
  std::size_t nodes = 400'000;    ///< a quantizer before and behind each of 100,000 nodes is within
  std::int64_t oldest_opset = 7;  ///< of ONNX's own domain; conformance tests go further back
};

/// Reads and checks an ONNX file: IR 3–14, opset 7–28, external data confined to the model's folder, no functions,
/// nodes put in topological order and named. libonnx's checker runs for IR <= 8 and opset <= 17. Custom domains are
/// kept (who runs the model refuses them by node name).
/// Errors   invalid_model naming node or tensor; io.
[[nodiscard]] core::Result<Model> load_model(const std::filesystem::path& path, const LoadLimits& limits = {});
[[nodiscard]] core::Result<Model> load_model_bytes(std::string_view bytes, const std::filesystem::path& folder,
                                                   const LoadLimits& limits = {});

/// Parses ONNX's textual syntax (a graph, "agraph (…) => (…) {…}"), without running the checker.
/// Errors   invalid_model with libonnx's position and message.
[[nodiscard]] core::Result<Model> parse_graph_text(const std::string& text,
                                                   const std::map<std::string, std::int64_t>& opsets);

/// Structural rules of ours (unique names, defined inputs, acyclic, known types) and libonnx's checker where it
/// applies.
[[nodiscard]] core::Status check_model(const Model& model);

/// Puts nodes into topological order (stable), names unnamed ones by their first output. Errors on cycles, on inputs
/// that nothing defines, on duplicate outputs.
[[nodiscard]] core::Status normalize(Graph& graph);

[[nodiscard]] core::Status save_model(const Model& model, const std::filesystem::path& path);
[[nodiscard]] std::string serialize_model(const Model& model);

/// TensorProto files; the proto carries the tensor's name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};
[[nodiscard]] core::Result<NamedTensor> load_tensor(const std::filesystem::path& path);
/// The same of a file's bytes; `path` is for messages.
[[nodiscard]] core::Result<NamedTensor> load_tensor_bytes(std::string_view bytes, const std::filesystem::path& path);
[[nodiscard]] std::string serialize_tensor(const NamedTensor& tensor);
[[nodiscard]] core::Status save_tensor(const NamedTensor& tensor, const std::filesystem::path& path);

/// A folder of `stem`_0.pb, `stem`_1.pb … as a map by name. A name twice is an error.
[[nodiscard]] core::Result<TensorMap> load_tensors(const std::filesystem::path& folder, std::string_view stem);
/// load_tensors, and the folder is removed with everything in it.
[[nodiscard]] core::Result<TensorMap> take_tensors(const std::filesystem::path& folder, std::string_view stem);
[[nodiscard]] core::Status save_tensors(const TensorMap& tensors, const std::filesystem::path& folder,
                                        std::string_view stem);

}  // namespace assay::model
