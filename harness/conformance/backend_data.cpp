#include "harness/conformance/backend_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "reference/op.hpp"

namespace assay::conformance {
namespace {

using core::DType;
using core::TensorMap;
using model::Node;

/// Half the distance from 1 to the next value: the relative error of one rounding.
double unit_roundoff(DType type) {
  switch (type) {
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:  // expectations of type float64 were partly computed in float32
      return 0x1p-24;
  }
}

constexpr double kRoundingsOfValue = 64.0;
constexpr double kRoundingsOfScale = 2.0;

/// Adds the operators of `graph` to `operators`; the first that our table lacks at the model's opset is the answer.
std::string missing_operator(const model::Model& model, const model::Graph& graph, std::set<std::string>& operators) {
  std::string missing;
  for (const Node& node : graph.nodes) {
    operators.insert(node.op_type);
    const reference::OpDef* op = reference::find_operator(node.domain, node.op_type);
    const auto opset = model.opsets.find(node.domain);
    if (op == nullptr || opset == model.opsets.end() || opset->second < op->first_opset ||
        opset->second > op->last_opset) {
      missing = fmt::format("operator {}{}", node.domain.empty() ? "" : node.domain + ".", node.op_type);
    }
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* subgraph = std::get_if<model::GraphPtr>(&attribute); subgraph != nullptr && *subgraph) {
        const std::string inner = missing_operator(model, **subgraph, operators);
        missing = missing.empty() ? inner : missing;
      }
    }
  }
  return missing;
}

struct LoadedModel {
  model::Model model;
  bool was_older = false;  ///< than opset 7
};

/// Reads the model. Those exported at opsets 1 to 6 are read as opset 7 (and IR 4, which needs no initializers among
/// the inputs). What changed in between are attributes that ONNX's checker refuses at opset 7, and how PRelu
/// broadcasts.
core::Result<LoadedModel> load(const std::filesystem::path& path) {
  core::Result<std::string> bytes = core::read_file(path);
  if (!bytes) {
    return bytes.error();
  }
  // opset_import {version: 6} and {domain: "", version: 6} as protobuf writes them at the end of a model.
  const std::string_view all_but_version = std::string_view(*bytes).substr(0, bytes->empty() ? 0 : bytes->size() - 1);
  const bool is_older = !bytes->empty() && bytes->back() >= 1 && bytes->back() <= 6 &&
                        (all_but_version.ends_with(std::string_view("\x42\x02\x10", 3)) ||
                         all_but_version.ends_with(std::string_view("\x42\x04\x0a\x00\x10", 5)));
  if (is_older) {
    bytes->back() = 7;
    if (bytes->starts_with("\x08\x03")) {  // ir_version: 3
      (*bytes)[1] = 4;
    }
  }
  core::Result<model::Model> model = model::load_model_bytes(*bytes, path.parent_path());
  if (!model) {
    return model.error();
  }
  return LoadedModel{std::move(*model), is_older};
}

/// The tensors stem_0.pb, stem_1.pb, … under the names of `declared`: old files carry no name, so place decides.
core::Result<TensorMap> load_in_order(const std::filesystem::path& folder, std::string_view stem,
                                      const std::vector<model::ValueInfo>& declared) {
  TensorMap tensors;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const core::Result<model::NamedTensor> tensor = model::load_tensor(folder / fmt::format("{}_{}.pb", stem, i));
    if (!tensor) {
      return tensor.error();
    }
    if (tensor->tensor.type() != declared[i].type) {  // bfloat16 is stored as uint16 in this data
      return core::Error{.kind = core::ErrorKind::invalid_data,
                         .message = fmt::format("{} stored as {}", core::dtype_name(declared[i].type),
                                                core::dtype_name(tensor->tensor.type())),
                         .node = {},
                         .op = {},
                         .tensor = declared[i].name};
    }
    tensors.emplace(declared[i].name, tensor->tensor);
  }
  return tensors;
}

std::size_t count_differing(std::span<const std::int64_t> expected, std::span<const std::int64_t> actual) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    count += expected[i] != actual[i] ? 1U : 0U;
  }
  return count;
}

BackendResult run_data_set(const model::Model& model, const std::filesystem::path& folder, BackendResult result) {
  const core::Result<TensorMap> inputs = load_in_order(folder, "input", model.graph.inputs);
  const core::Result<TensorMap> expected = load_in_order(folder, "output", model.graph.outputs);
  if (!inputs || !expected) {
    result.outcome = BackendOutcome::not_covered;
    result.detail = "data: " + (inputs ? expected.error() : inputs.error()).message;
    return result;
  }
  const core::Result<TensorMap> actual = reference::execute(model, *inputs);
  if (!actual) {
    result.outcome =
        actual.error().kind == core::ErrorKind::unsupported ? BackendOutcome::refused : BackendOutcome::failed;
    result.detail = actual.error().message;
    return result;
  }
  result.outcome = BackendOutcome::passed;
  for (const auto& [name, tensor] : *expected) {
    if (const std::string text = difference(tensor, actual->at(name)); !text.empty()) {
      result.outcome = BackendOutcome::failed;
      result.detail = fmt::format("output \"{}\": {}", name, text);
    }
  }
  return result;
}

}  // namespace

std::filesystem::path backend_data_root() { return "/usr/lib/python3/dist-packages/onnx/backend/test/data"; }

std::vector<BackendCase> backend_cases(std::string_view group) {
  std::vector<BackendCase> cases;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(backend_data_root() / group, error)) {
    if (entry.is_directory()) {
      cases.push_back({.name = entry.path().filename().string(), .folder = entry.path()});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const BackendCase& a, const BackendCase& b) { return a.name < b.name; });
  return cases;
}

BackendResult run_backend_case(const BackendCase& backend_case) {
  BackendResult result;
  const core::Result<LoadedModel> loaded = load(backend_case.folder / "model.onnx");
  if (!loaded) {
    result.detail = "model: " + loaded.error().message;
    return result;
  }
  const model::Model& model = loaded->model;
  result.detail = missing_operator(model, model.graph, result.operators);
  if (loaded->was_older && result.operators.contains("PRelu")) {
    result.detail = "operator PRelu before opset 7";
  }
  if (!result.detail.empty()) {
    return result;
  }
  result.detail = "no data set";
  for (std::size_t set = 0;; ++set) {
    const std::filesystem::path folder = backend_case.folder / fmt::format("test_data_set_{}", set);
    if (!std::filesystem::exists(folder)) {
      return result;
    }
    result.detail.clear();
    result = run_data_set(model, folder, std::move(result));
    if (result.outcome != BackendOutcome::passed) {
      return result;
    }
  }
}

std::string difference(const core::Tensor& expected, const core::Tensor& actual) {
  if (expected.type() != actual.type() || expected.shape() != actual.shape()) {
    return fmt::format("expected {} {}, actual {} {}", core::dtype_name(expected.type()),
                       core::shape_text(expected.shape()), core::dtype_name(actual.type()),
                       core::shape_text(actual.shape()));
  }
  if (!expected.is_real()) {
    const auto [wanted, got] = std::ranges::mismatch(expected.integers(), actual.integers());
    if (wanted == expected.integers().end()) {
      return {};
    }
    return fmt::format("element {}: expected {}, actual {} ({} of {} differ)", wanted - expected.integers().begin(),
                       *wanted, *got, count_differing(expected.integers(), actual.integers()), expected.size());
  }
  double scale = 0.0;
  for (const double value : expected.reals()) {
    scale = std::isfinite(value) ? std::max(scale, std::abs(value)) : scale;
  }
  const double unit = unit_roundoff(expected.type());
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    const double wanted = expected.reals()[i];
    const double got = actual.reals()[i];
    const double limit = unit * (kRoundingsOfValue * std::abs(wanted) + kRoundingsOfScale * scale);
    const bool both_nan = std::isnan(wanted) && std::isnan(got);
    if (!both_nan && wanted != got && !(std::isfinite(wanted) && std::abs(got - wanted) <= limit)) {
      return fmt::format("element {}: expected {}, actual {}, limit {}", i, core::exact_text64(wanted),
                         core::exact_text64(got), core::exact_text64(limit));
    }
  }
  return {};
}

}  // namespace assay::conformance
