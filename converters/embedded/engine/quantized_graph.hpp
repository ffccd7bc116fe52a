#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"
#include "converters/embedded/engine/policy.hpp"
#include "harness/core/quant_params.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded::engine {

/// What is known before the first run: initializers and everything computed from them, by tensor name.
using Constants = std::map<std::string, Buffer, std::less<>>;

/// One node of a Q/DQ graph that runs on codes, with the DequantizeLinear nodes before and the QuantizeLinear nodes
/// after it.
struct IntegerNode {
  Kernel kernel;
  std::vector<std::string> inputs;  ///< what the kernel reads: codes where the node reads dequantized values
  /// The codes it writes: outputs of the QuantizeLinear nodes. The node's own output where it is left in float.
  std::vector<std::string> outputs;
  std::vector<std::size_t> covered;  ///< the fused activation and the QuantizeLinear nodes, by index
  std::vector<std::string> names;    ///< the node's and the fused activation's
  /// Float tensors that are never made, and the codes of the same shape: who only asks for the shape reads those.
  std::map<std::string, std::string, std::less<>> shapes;
};

/// Whether `node` looks at the shape of its input and nothing else.
[[nodiscard]] bool reads_shape_only(const Node& node);

/// The parameters of a QuantizeLinear or DequantizeLinear whose scale (and zero_point) are constant. `type` is
/// undefined where only the tensor itself could tell. Nothing for block quantization and types that are not integers.
[[nodiscard]] std::optional<core::QuantParams> constant_params(const Node& node, const Constants& constants);

/// Every node of `graph` with an integer form, by index (Program::compile says which). `graph` is in topological order.
/// Errors   of the kernels' makers, with the node's name.
[[nodiscard]] Result<std::map<std::size_t, IntegerNode>> find_integer_nodes(const model::Graph& graph,
                                                                            std::int64_t opset,
                                                                            const Constants& constants,
                                                                            const ArithmeticPolicy& policy);

/// `error` with the node's name and operator in its fields and message.
[[nodiscard]] core::Error at_node(core::Error error, const Node& node);

}  // namespace assay::embedded::engine
