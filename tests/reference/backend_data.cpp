#include "tests/reference/backend_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "reference/op.hpp"

namespace assay::reference {
namespace {

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
    const OpDef* op = find_operator(node.domain, node.op_type);
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

/// The tensors stem_0.pb, stem_1.pb, … under the names of `declared`: old files carry no name, so place decides.
core::Result<TensorMap> load_in_order(const std::filesystem::path& folder, std::string_view stem,
                                      const std::vector<model::ValueInfo>& declared) {
  TensorMap tensors;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const core::Result<model::NamedTensor> tensor = model::load_tensor(folder / fmt::format("{}_{}.pb", stem, i));
    if (!tensor) {
      return tensor.error();
    }
    tensors.emplace(declared[i].name, tensor->tensor);
  }
  return tensors;
}

BackendResult run_data_set(const model::Model& model, const std::filesystem::path& folder, BackendResult result) {
  const core::Result<TensorMap> inputs = load_in_order(folder, "input", model.graph.inputs);
  const core::Result<TensorMap> expected = load_in_order(folder, "output", model.graph.outputs);
  if (!inputs || !expected) {
    result.outcome = BackendOutcome::not_covered;
    result.detail = "data: " + (inputs ? expected.error() : inputs.error()).message;
    return result;
  }
  const core::Result<TensorMap> actual = execute(model, *inputs);
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
  const core::Result<model::Model> model = model::load_model(backend_case.folder / "model.onnx");
  if (!model) {
    result.detail = "model: " + model.error().message;
    return result;
  }
  result.detail = missing_operator(*model, model->graph, result.operators);
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
    result = run_data_set(*model, folder, std::move(result));
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
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      if (expected.integers()[index] != actual.integers()[index]) {
        return fmt::format("element {}: expected {}, actual {}", i, expected.integers()[index],
                           actual.integers()[index]);
      }
    }
    return {};
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

}  // namespace assay::reference
