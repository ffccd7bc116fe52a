// If: one of two subgraphs, each a program of its own in float32.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "converters/embedded/engine/program.hpp"

namespace assay::embedded::engine {
namespace {

/// A branch made ready, and which of the node's operands (names_read) it takes, in the order of its inputs.
struct Branch {
  std::shared_ptr<const ProgramState> program;
  std::vector<std::size_t> operands;
};

/// Branches have no inputs: what they read is named around them.
Result<Branch> compile_branch(const Binding& binding, const char* attribute) {
  const auto graph = binding.node.graph(attribute);
  if (!graph) return invalid_model(fmt::format("attribute {} is missing", attribute));
  const std::vector<std::string> names = names_read(binding.node);
  Branch branch;
  std::vector<std::string> outer;
  Constants known;
  for (std::size_t i = binding.node.inputs.size(); i < names.size(); ++i) {
    if (const Buffer* constant = binding.constant(i)) {
      known.emplace(names[i], *constant);
    } else {
      outer.push_back(names[i]);
      branch.operands.push_back(i);
    }
  }
  auto program = compile_subgraph(*graph, binding.opset, outer, std::move(known));
  if (!program) return program.error().within(attribute);
  branch.program = std::move(*program);
  return branch;
}

Status run_branch(const Branch& branch, const Call& call) {
  std::vector<Buffer> inputs;
  inputs.reserve(branch.operands.size());
  for (const std::size_t operand : branch.operands) inputs.push_back(call.input(operand));
  auto outputs = run_steps(*branch.program, std::move(inputs));
  if (!outputs) return outputs.error();
  if (outputs->size() < call.outputs.size()) {
    return invalid_model(fmt::format("its branch gives {} outputs of {}", outputs->size(), call.outputs.size()));
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) call.outputs[i] = std::move((*outputs)[i]);
  return core::success();
}

/// The one boolean element of a condition.
Result<bool> condition_of(const Buffer& condition) {
  if (condition.type() != DType::boolean || condition.size() != 1) {
    return invalid_data(fmt::format("the condition is {} of {}; expected one boolean",
                                    core::shape_text(condition.shape()), core::dtype_name(condition.type())));
  }
  return *condition.data<std::uint8_t>() != 0;
}

// ONNX If-16. Where the condition is constant, the other branch isn't looked at.
Result<Kernel> make_if(const Binding& binding) {
  constexpr const char* kThen = "then_branch";
  constexpr const char* kElse = "else_branch";
  if (const Buffer* constant = binding.constant(0)) {
    const auto condition = condition_of(*constant);
    if (!condition) return condition.error();
    auto branch = compile_branch(binding, *condition ? kThen : kElse);
    if (!branch) return branch.error();
    return Kernel([branch = std::move(*branch)](const Call& call) { return run_branch(branch, call); });
  }
  auto then_branch = compile_branch(binding, kThen);
  if (!then_branch) return then_branch.error();
  auto else_branch = compile_branch(binding, kElse);
  if (!else_branch) return else_branch.error();
  return Kernel([then_branch = std::move(*then_branch), else_branch = std::move(*else_branch)](const Call& call) {
    if (!call.has(0)) return Status(invalid_model("input 0 is left out, but required"));
    const auto condition = condition_of(call.input(0));
    if (!condition) return Status(condition.error());
    return run_branch(*condition ? then_branch : else_branch, call);
  });
}

}  // namespace

void add_branch_makers(MakerTable& table) { table["If"] = &make_if; }

}  // namespace assay::embedded::engine
