#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/engine/kernel.hpp"
#include "converters/embedded/engine/quantized_graph.hpp"

namespace assay::embedded::engine {

/// One kernel of a program with the slots it reads and writes; a slot is a tensor's place during a run.
struct Step {
  Kernel kernel;
  std::vector<int> inputs;  ///< -1 where an optional input is left out
  std::vector<int> outputs;
  std::vector<int> released;  ///< slots that nothing reads after this step
  std::vector<int> traced;    ///< outputs that are codes of an activation
  Node node;                  ///< for messages: name and operator only
};

struct ProgramState {
  struct Input {
    int slot = 0;
    model::ValueInfo info;
  };
  std::vector<Buffer> constants;  ///< by slot; undefined type where the slot is no constant
  std::vector<std::string> names;
  std::vector<Input> inputs;
  std::vector<int> outputs;
  std::vector<Step> steps;
  std::vector<std::string> integer_nodes;
};

/// What a step of `node` reads: its inputs, then what its subgraphs read from outside.
[[nodiscard]] std::vector<std::string> names_read(const Node& node);

/// A subgraph made ready for float execution. Its inputs are those of the graph, then the tensors called `outer`.
/// `known` holds the values of further tensors around it that are constant.
[[nodiscard]] Result<std::shared_ptr<const ProgramState>> compile_subgraph(const model::Graph& graph,
                                                                           std::int64_t opset,
                                                                           const std::vector<std::string>& outer,
                                                                           Constants known);

/// Runs the steps on `inputs`, in the order of the program's; gives its outputs in theirs.
/// Errors   of the kernels, and invalid_model for an output that no step makes.
[[nodiscard]] Result<std::vector<Buffer>> run_steps(const ProgramState& program, std::vector<Buffer> inputs,
                                                    core::TensorMap* trace = nullptr, const Observer& observe = {});

}  // namespace assay::embedded::engine
