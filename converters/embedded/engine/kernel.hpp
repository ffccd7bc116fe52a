#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/embedded/engine/buffer.hpp"
#include "converters/embedded/engine/policy.hpp"
#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded::engine {

using core::Result;
using core::Status;
using model::Node;

/// What a kernel works on during one run.
struct Call {
  /// The node's inputs, null where an optional one is left out; then what its subgraphs read from outside (names_read).
  std::span<const Buffer* const> inputs;
  std::span<Buffer> outputs;  ///< the kernel makes each of them

  [[nodiscard]] bool has(std::size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  [[nodiscard]] const Buffer& input(std::size_t index) const { return *inputs[index]; }
};

/// A node made ready: its attributes are read and its constant operands packed.
using Kernel = std::function<Status(const Call&)>;

/// What is known about a node before the first run.
struct Binding {
  const Node& node;
  std::int64_t opset = 13;
  std::span<const Buffer* const> constants;  ///< as Call::inputs: the value where it is constant, else null

  [[nodiscard]] const Buffer* constant(std::size_t index) const {
    return index < constants.size() ? constants[index] : nullptr;
  }
};

using Maker = Result<Kernel> (*)(const Binding&);
using MakerTable = std::map<std::string_view, Maker>;

/// The float kernels of every operator, by model::operator_name.
[[nodiscard]] const MakerTable& float_makers();

// Each file of kernels adds its own operators.
void add_activation_makers(MakerTable& table);
void add_branch_makers(MakerTable& table);
void add_convolution_makers(MakerTable& table);
void add_elementwise_makers(MakerTable& table);
void add_fourier_makers(MakerTable& table);
void add_layout_makers(MakerTable& table);
void add_matmul_makers(MakerTable& table);
void add_normalization_makers(MakerTable& table);
void add_pad_makers(MakerTable& table);
void add_pooling_makers(MakerTable& table);
void add_quantize_makers(MakerTable& table);
void add_recurrent_makers(MakerTable& table);
void add_reduce_makers(MakerTable& table);
void add_resize_makers(MakerTable& table);
void add_scatter_makers(MakerTable& table);
void add_shape_makers(MakerTable& table);

/// QuantizeLinear and DequantizeLinear after `policy`; the float table's follow ONNX's text.
[[nodiscard]] Result<Kernel> make_quantize(const Binding& binding, const ArithmeticPolicy& policy);
[[nodiscard]] Result<Kernel> make_dequantize(const Binding& binding, const ArithmeticPolicy& policy);

/// Errors without their node, which the program adds.
[[nodiscard]] core::Error invalid_data(std::string message);
[[nodiscard]] core::Error invalid_model(std::string message);
[[nodiscard]] core::Error unsupported(std::string message);

/// Runs `kernel`; running out of memory, by honest size or by a lie in the model, becomes an error.
[[nodiscard]] Status run_kernel(const Kernel& kernel, const Call& call);

/// Fails unless inputs 0 … count-1 are there and of type `type`.
[[nodiscard]] Status expect_inputs(const Call& call, std::size_t count, DType type);

/// A list that newer versions of an operator take as input `index` and older ones as an attribute.
[[nodiscard]] Result<std::vector<std::int64_t>> list_operand(const Call& call, std::size_t index,
                                                             const std::vector<std::int64_t>& attribute);

/// `axis` counted from the front; an error unless -rank <= axis < rank (<= rank where `end_allowed`).
[[nodiscard]] Result<std::int64_t> resolve_axis(std::int64_t axis, std::int64_t rank, bool end_allowed = false);

/// A unary function of real values, as activations and tables share it; parameters are read from the node.
using RealFunction = std::function<double(double)>;
/// The function of an operator that maps each element alone (Sigmoid, HardSwish, Sqrt …), or an empty one.
[[nodiscard]] RealFunction unary_function(const Node& node);
/// The names (model::operator_name) of all operators that have one.
[[nodiscard]] std::vector<std::string_view> unary_operators();

}  // namespace assay::embedded::engine
