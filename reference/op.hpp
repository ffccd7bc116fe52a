#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"
#include "reference/facts.hpp"

namespace assay::reference {

using core::DType;
using core::Result;
using core::Shape;
using core::Tensor;
using core::TensorMap;
using model::Node;

/// Runs a subgraph (If, Loop, Scan) with `bound` added to the names visible outside. Results in the graph's order.
using SubgraphRunner = std::function<Result<std::vector<Tensor>>(const model::Graph& graph, const TensorMap& bound)>;

/// What an operator's kernel sees: its node, its inputs in order (null where left out), its opset.
struct OpCall {
  const Node& node;
  std::int64_t opset = 0;  ///< version of the node's domain that the model imports
  std::span<const Tensor* const> inputs;
  const SubgraphRunner* run_subgraph = nullptr;

  [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  /// Input `index`; the executor has checked that the first OpDef::min_inputs ones are there.
  [[nodiscard]] const Tensor& in(std::size_t index) const { return *inputs[index]; }
  /// The input, or null where it is left out.
  [[nodiscard]] const Tensor* optional_in(std::size_t index) const {
    return has_input(index) ? inputs[index] : nullptr;
  }
};

/// Errors are core::Error with the shapes in the message; the executor adds node and operator.
using Kernel = Result<std::vector<Tensor>> (*)(const OpCall& call);

/// What the elements of a result depend on; lets inference follow a shape whose extents are only partly known through
/// Gather, Concat, Mul and their like.
enum class DataFlow {
  opaque,       ///< on whatever
  moves_first,  ///< each is an element of input 0, and the other inputs say which
  moves_all,    ///< each is an element of an input, and attributes say which
  elementwise,  ///< each on the elements at its own place
};

struct QuantizedForm;

/// The version of ONNX's domain since which a type or an attribute is taken.
struct TypeVersion {
  DType type = DType::undefined;
  std::int64_t opset = 1;
};
struct AttributeVersion {
  std::string_view name;
  std::int64_t opset = 1;
};

/// One operator of the reference: defined in reference/ops/<snake_case name>.cpp as `const OpDef& op_<snake_case>()`,
/// found by its file name.
struct OpDef {
  std::string_view name;         ///< its name in its domain, "ConvTranspose"
  std::int64_t first_opset = 1;  ///< oldest version of the operator that the kernel follows
  std::int64_t last_opset = 28;  ///< newest version of the domain whose form of the operator the kernel follows
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;
  Kernel run = nullptr;
  ShapeRule infer = nullptr;
  DataFlow data = DataFlow::opaque;
  std::string_view domain = "";                       ///< "" is ONNX's own
  const QuantizedForm* quantized = nullptr;           ///< of an operator on codes
  std::span<const TypeVersion> types = {};            ///< that it takes later than ONNX has them
  std::span<const AttributeVersion> attributes = {};  ///< that it has since a later version
};

/// Every operator, sorted by domain and name.
[[nodiscard]] std::span<const OpDef* const> all_operators();
/// The operator, or null.
[[nodiscard]] const OpDef* find_operator(std::string_view domain, std::string_view name);

/// The reference's form of `node`'s operator at `opset`, with its `inputs` counted.
/// Errors   unsupported for an operator or a version outside of the table; invalid_model for too many or missing
/// inputs.
[[nodiscard]] Result<const OpDef*> operator_for(const Node& node, std::int64_t opset, std::size_t inputs,
                                                const std::function<bool(std::size_t)>& has_input);

/// The version whose types and attributes `node` may have: the model's, and any for quantizers of a model that imports
/// ONNX Runtime's domain. Its QuantizeLinear and DequantizeLinear, which have 16 and 4 bits and blocks whatever ONNX's
/// version, are read as ONNX's.
[[nodiscard]] std::int64_t version_of_forms(const Node& node, std::int64_t opset,
                                            const std::map<std::string, std::int64_t>& opsets);
/// Errors   invalid_model for an attribute that the operator has since a later version.
[[nodiscard]] core::Status check_attribute_versions(const OpDef& op, const Node& node, std::int64_t opset);
/// An operator of ONNX's own domain has `type` at `opset`, for its inputs or outputs; `place` is for the message.
/// Errors   invalid_model saying since which version it has.
[[nodiscard]] core::Status check_type_version(const OpDef& op, std::int64_t opset, DType type,
                                              const std::function<std::string()>& place);

/// `error` with node and operator in its fields and in front of its message.
[[nodiscard]] core::Error node_error(const Node& node, core::Error error);

/// Shorthand for an operator's own complaint (kind invalid_model).
[[nodiscard]] core::Error op_error(std::string message);
/// ... and for a legal form that the kernel does not handle (kind unsupported).
[[nodiscard]] core::Error op_unsupported(std::string message);

}  // namespace assay::reference
