#include "harness/conformance/stored_case.hpp"

#include <fmt/format.h>

#include <bit>

#include "harness/conformance/old_forms.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::conformance {
namespace fs = std::filesystem;

namespace {

using core::DType;
using core::Tensor;

constexpr std::int64_t kOldestOpset = 1;

core::Error invalid(std::string message, std::string tensor = {}) {
  return {core::ErrorKind::invalid_data, std::move(message), {}, {}, std::move(tensor)};
}

Tensor bfloat16_from_bits(const Tensor& bits) {
  std::vector<double> values;
  values.reserve(bits.integers().size());
  for (const std::int64_t code : bits.integers()) {
    values.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16U)));
  }
  return {DType::bfloat16, bits.shape(), std::move(values)};
}

core::Result<core::TensorMap> load_in_order(const fs::path& folder, std::string_view stem,
                                            const std::vector<model::ValueInfo>& declared) {
  core::TensorMap tensors;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    core::Result<model::NamedTensor> read = model::load_tensor(folder / fmt::format("{}_{}.pb", stem, i));
    if (!read) {
      return read.error();
    }
    Tensor tensor = std::move(read->tensor);
    if (declared[i].type == DType::bfloat16 && tensor.type() == DType::uint16) {
      tensor = bfloat16_from_bits(tensor);
    }
    if (declared[i].type != DType::undefined && tensor.type() != declared[i].type) {
      return invalid(fmt::format("{} \"{}\" is declared {} and stored as {}", stem, declared[i].name,
                                 core::dtype_name(declared[i].type), core::dtype_name(tensor.type())),
                     declared[i].name);
    }
    tensors.emplace(declared[i].name, std::move(tensor));
  }
  return tensors;
}

}  // namespace

core::Result<StoredCase> load_stored_case(const fs::path& folder) {
  model::LoadLimits limits;
  limits.oldest_opset = kOldestOpset;
  core::Result<model::Model> loaded = model::load_model(folder / "model.onnx", limits);
  if (!loaded) {
    return loaded.error();
  }
  core::Result<model::Model> model = without_old_forms(*std::move(loaded));
  if (!model) {
    return model.error();
  }
  StoredCase stored{*std::move(model), {}};
  for (std::size_t set = 0;; ++set) {
    const std::string name = fmt::format("test_data_set_{}", set);
    std::error_code error;
    if (!fs::is_directory(folder / name, error)) {
      break;
    }
    core::Result<core::TensorMap> inputs = load_in_order(folder / name, "input", stored.model.graph.inputs);
    core::Result<core::TensorMap> outputs = load_in_order(folder / name, "output", stored.model.graph.outputs);
    if (!inputs || !outputs) {
      return (inputs ? outputs : inputs).error().within(name);
    }
    stored.data.push_back({name, *std::move(inputs), *std::move(outputs)});
  }
  if (stored.data.empty()) {
    return invalid(fmt::format("\"{}\" holds no test_data_set_0", folder.string()));
  }
  return stored;
}

}  // namespace assay::conformance
