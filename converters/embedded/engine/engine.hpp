#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/embedded/engine/policy.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded::engine {

/// A tensor as it lies in the engine, valid during the call that shows it.
struct TensorView {
  core::DType type = core::DType::undefined;
  std::span<const std::int64_t> shape;
  std::span<const float> floats;  ///< the values; empty unless `type` is float32
};

/// Sees every graph input and node output by name, in execution order. What is computed from constants alone is
/// folded before the first run and not shown.
using Observer = std::function<void(std::string_view name, const TensorView& tensor)>;

struct ProgramState;

/// A model made ready for execution: attributes read, constants folded, weights packed. Immutable, so that one program
/// serves any number of runs. Shapes are bound by the inputs of each run.
///
/// Execution is single-threaded; the same inputs give the same bytes on every processor.
class Program {
 public:
  /// Prepares `model` for float32 execution: every node as it stands, QuantizeLinear and DequantizeLinear included.
  /// Errors   unsupported, naming node and operator; invalid_model for attributes that ONNX forbids.
  [[nodiscard]] static core::Result<Program> compile_float(const model::Model& model);

  /// Prepares a Q/DQ artifact for execution on integers. A node whose data come from DequantizeLinear and whose result
  /// goes into QuantizeLinear (with at most one Relu or Clip between) runs on codes where it has an integer form; so do
  /// sums of products whose result is left in float, which are dequantized from their accumulators. Everything else
  /// runs in float between Dequantize and Quantize, exactly as the graph says.
  [[nodiscard]] static core::Result<Program> compile(const model::Model& artifact, const ArithmeticPolicy& policy = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// Runs the graph; inputs and outputs are bound by name. Inputs that the graph does not have are ignored.
  /// `trace`, when given, receives the codes of every quantized activation by its QuantizeLinear's output name.
  /// Errors   invalid_data for a missing input, a wrong type or a shape that does not fit, naming it.
  [[nodiscard]] core::Result<core::TensorMap> run(const core::TensorMap& inputs, core::TensorMap* trace = nullptr,
                                                  const Observer& observe = {}) const;

  /// Names of the nodes that run on codes (Relu and Clip fused into their producer included; QuantizeLinear and
  /// DequantizeLinear not), in the graph's order. Empty after compile_float.
  [[nodiscard]] const std::vector<std::string>& integer_nodes() const;

 private:
  explicit Program(std::unique_ptr<const ProgramState> state);
  std::unique_ptr<const ProgramState> state_;
};

/// Operators that run_float knows, sorted.
[[nodiscard]] std::vector<std::string> float_operators();
/// Operators that have an integer form between DequantizeLinear and QuantizeLinear, sorted.
[[nodiscard]] std::vector<std::string> integer_operators();

/// Compiles and runs once.
[[nodiscard]] core::Result<core::TensorMap> run_float(const model::Model& model, const core::TensorMap& inputs,
                                                      const Observer& observe = {});
[[nodiscard]] core::Result<core::TensorMap> run_quantized(const model::Model& artifact, const core::TensorMap& inputs,
                                                          const ArithmeticPolicy& policy = {},
                                                          core::TensorMap* trace = nullptr);

/// The nodes of `artifact` that the engine runs on integers (Program::integer_nodes).
[[nodiscard]] core::Result<std::vector<std::string>> integer_nodes(const model::Model& artifact);

/// Computes one node from constant inputs (null where an optional input is left out): for constant folding.
[[nodiscard]] core::Result<std::vector<core::Tensor>> evaluate_node(const model::Node& node, std::int64_t opset,
                                                                    std::span<const core::Tensor* const> inputs);

}  // namespace assay::embedded::engine
