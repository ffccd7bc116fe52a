// From a graph to a list of steps: constants are folded, integer forms found, what nothing needs is left out.
#include "converters/embedded/engine/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "converters/embedded/engine/quantized_graph.hpp"

namespace assay::embedded::engine {
namespace {

Result<Kernel> make_float_kernel(const Node& node, std::int64_t opset, std::span<const Buffer* const> constants) {
  const std::string name = model::operator_name(node);
  const auto maker = float_makers().find(name);
  if (maker == float_makers().end()) {
    return at_node(unsupported(fmt::format("the embedded engine has no kernel for operator \"{}\"", name)), node);
  }
  auto kernel = maker->second({node, opset, constants});
  if (!kernel) return at_node(kernel.error(), node);
  return kernel;
}

class Builder {
 public:
  Builder(const model::Graph& graph, std::int64_t opset, const ArithmeticPolicy* policy, Constants known = {})
      : graph_(graph), opset_(opset), policy_(policy), constants_(std::move(known)) {
    for (const Node& node : graph_.nodes) {
      if (keeps_codes(node) && !node.outputs.empty()) dequantizers_[node.outputs[0]] = &node;
    }
  }

  Result<ProgramState> build() {
    if (const auto status = fold(); !status) return status.error();
    if (policy_ != nullptr) {
      auto found = find_integer_nodes(graph_, opset_, constants_, *policy_);
      if (!found) return found.error();
      integer_ = std::move(*found);
      for (auto& [index, node] : integer_) shapes_.merge(node.shapes);
    }
    mark_needed();
    for (const auto& input : graph_.inputs) state_.inputs.push_back({slot(input.name), input});
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!needed_.contains(i)) continue;
      if (const auto status = add_step(i); !status) return status.error();
    }
    for (const auto& output : graph_.outputs) {
      if (const auto status = add_constant(output.name, nullptr); !status) return status.error();
      state_.outputs.push_back(slot(output.name));
    }
    release_early();
    state_.constants.resize(state_.names.size());
    return std::move(state_);
  }

 private:
  int slot(const std::string& name) {
    const auto [it, is_new] = slots_.try_emplace(name, static_cast<int>(state_.names.size()));
    if (is_new) state_.names.push_back(name);
    return it->second;
  }

  /// The constant called `name`, converted from its initializer at the first question; null when it is none.
  Result<const Buffer*> constant(const std::string& name) {
    const auto it = constants_.find(name);
    if (it != constants_.end()) return &it->second;
    const core::Tensor* tensor = graph_.initializer(name);
    if (tensor == nullptr) return nullptr;
    auto buffer = Buffer::from_tensor(*tensor);
    if (!buffer) {
      core::Error error = buffer.error().within(fmt::format("initializer \"{}\"", name));
      error.tensor = name;
      return error;
    }
    return &constants_.emplace(name, std::move(*buffer)).first->second;
  }

  /// Whether DequantizeLinear is kept as it stands, so that integer kernels can see the codes.
  [[nodiscard]] bool keeps_codes(const Node& node) const {
    return policy_ != nullptr && node.op_type == "DequantizeLinear";
  }

  /// Runs `node`, whose inputs are all constant, and remembers what it gives.
  Status fold_node(const Node& node) {
    std::vector<const Buffer*> inputs;
    for (const std::string& name : names_read(node)) {
      auto value = name.empty() ? Result<const Buffer*>(nullptr) : constant(name);
      if (!value) return value.error();
      inputs.push_back(*value);
    }
    const auto kernel = make_float_kernel(node, opset_, inputs);
    if (!kernel) return kernel.error();
    std::vector<Buffer> outputs(node.outputs.size());
    if (const auto status = run_kernel(*kernel, {inputs, outputs}); !status) return at_node(status.error(), node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!node.outputs[i].empty()) constants_[node.outputs[i]] = std::move(outputs[i]);
    }
    return core::success();
  }

  Status fold() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      bool all_constant = true;
      for (const std::string& name : names_read(node)) {
        if (name.empty()) continue;
        const auto value = constant(name);
        if (!value) return at_node(value.error(), node);
        all_constant = all_constant && *value != nullptr;
      }
      if (!all_constant || keeps_codes(node)) continue;
      if (auto status = fold_node(node); !status) return status;
      folded_.insert(i);
    }
    return core::success();
  }

  /// What the step of node `i` reads: codes for an integer kernel and for who asks only for a shape.
  std::vector<std::string> inputs_of(std::size_t i) const {
    const auto integer = integer_.find(i);
    if (integer != integer_.end()) return integer->second.inputs;
    std::vector<std::string> inputs = names_read(graph_.nodes[i]);
    if (!reads_shape_only(graph_.nodes[i])) return inputs;
    for (std::string& input : inputs) {
      const auto codes = shapes_.find(input);
      if (codes != shapes_.end()) input = codes->second;
    }
    return inputs;
  }

  /// The nodes that outputs depend on, and those covered by an integer node left out. Float execution keeps them all,
  /// since somebody may be looking.
  void mark_needed() {
    std::set<std::string, std::less<>> wanted;
    for (const auto& output : graph_.outputs) wanted.insert(output.name);
    std::set<std::size_t> covered;
    for (const auto& [index, node] : integer_) covered.insert(node.covered.begin(), node.covered.end());
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (folded_.contains(i) || covered.contains(i)) continue;
      const auto integer = integer_.find(i);
      const auto& outputs = integer != integer_.end() ? integer->second.outputs : graph_.nodes[i].outputs;
      const auto is_wanted = [&](const std::string& name) { return wanted.contains(name); };
      if (policy_ != nullptr && !std::ranges::any_of(outputs, is_wanted)) continue;
      needed_.insert(i);
      const auto inputs = inputs_of(i);
      wanted.insert(inputs.begin(), inputs.end());
    }
  }

  /// Makes `name` a constant of the program if it is one; a dequantized constant is computed here, at its first reader.
  Status add_constant(const std::string& name, const Buffer** value) {
    auto known = constant(name);
    if (!known) return known.error();
    if (*known == nullptr && policy_ != nullptr) {
      const auto it = dequantizers_.find(name);
      if (it != dequantizers_.end() && std::ranges::all_of(it->second->inputs, [&](const std::string& input) {
            return input.empty() || constants_.contains(input);
          })) {
        if (auto status = fold_node(*it->second); !status) return status;
        known = constant(name);
      }
    }
    if (value != nullptr) *value = *known;
    if (*known == nullptr) return core::success();
    const auto index = static_cast<std::size_t>(slot(name));
    if (state_.constants.size() <= index) state_.constants.resize(index + 1);
    state_.constants[index] = **known;
    return core::success();
  }

  Status add_step(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const auto integer = integer_.find(i);
    const bool is_integer = integer != integer_.end();
    if (!is_integer && keeps_codes(node) && constants_.contains(node.input(0))) {
      // Folded at its first reader, unless its parameters are computed at run time.
      const Buffer* value = nullptr;
      if (auto status = add_constant(node.outputs[0], &value); !status) return status;
      if (value != nullptr) return core::success();
    }
    Step step;
    step.node.name = node.name;
    step.node.op_type = node.op_type;
    std::vector<const Buffer*> constants;
    for (const std::string& name : inputs_of(i)) {
      const Buffer* value = nullptr;
      if (!name.empty()) {
        if (const auto status = add_constant(name, &value); !status) return at_node(status.error(), node);
      }
      constants.push_back(value);
      step.inputs.push_back(name.empty() ? -1 : slot(name));
    }
    for (const std::string& name : is_integer ? integer->second.outputs : node.outputs) {
      step.outputs.push_back(name.empty() ? -1 : slot(name));
    }
    if (is_integer) {
      step.kernel = integer->second.kernel;
      state_.integer_nodes.insert(state_.integer_nodes.end(), integer->second.names.begin(),
                                  integer->second.names.end());
      if (integer->second.outputs[0] != node.outputs[0]) step.traced = step.outputs;  // codes, not left in float
    } else {
      const bool quantizes = policy_ != nullptr && node.op_type == "QuantizeLinear";
      const bool dequantizes = policy_ != nullptr && node.op_type == "DequantizeLinear";
      auto kernel = quantizes     ? make_quantize({node, opset_, constants}, *policy_)
                    : dequantizes ? make_dequantize({node, opset_, constants}, *policy_)
                                  : make_float_kernel(node, opset_, constants);
      if (!kernel) return at_node(kernel.error(), node);
      step.kernel = std::move(*kernel);
      if (quantizes) step.traced = step.outputs;
    }
    state_.steps.push_back(std::move(step));
    return core::success();
  }

  /// A slot's memory goes back after its last reader.
  void release_early() {
    std::set<int> seen(state_.outputs.begin(), state_.outputs.end());
    for (std::size_t i = 0; i < state_.constants.size(); ++i) {
      if (state_.constants[i].type() != DType::undefined) seen.insert(static_cast<int>(i));
    }
    for (auto step = state_.steps.rbegin(); step != state_.steps.rend(); ++step) {
      for (const auto* slots : {&step->inputs, &step->outputs}) {
        for (const int index : *slots) {
          if (index >= 0 && seen.insert(index).second) step->released.push_back(index);
        }
      }
    }
  }

  const model::Graph& graph_;
  std::int64_t opset_;
  const ArithmeticPolicy* policy_;
  ProgramState state_;
  Constants constants_;
  std::map<std::size_t, IntegerNode> integer_;
  std::map<std::string, std::string, std::less<>> shapes_;
  std::set<std::size_t> folded_, needed_;
  std::map<std::string, const Node*, std::less<>> dequantizers_;
  std::map<std::string, int, std::less<>> slots_;
};

}  // namespace

std::vector<std::string> names_read(const Node& node) {
  std::vector<std::string> names = node.inputs;
  for (std::string& name : model::captured_names(node)) names.push_back(std::move(name));
  return names;
}

Result<std::shared_ptr<const ProgramState>> compile_subgraph(const model::Graph& graph, std::int64_t opset,
                                                             const std::vector<std::string>& outer, Constants known) {
  model::Graph own = graph;
  for (const std::string& name : outer) own.inputs.push_back({name, DType::undefined, std::nullopt});
  auto state = Builder(own, opset, nullptr, std::move(known)).build();
  if (!state) return state.error();
  return std::make_shared<const ProgramState>(std::move(*state));
}

Program::Program(std::unique_ptr<const ProgramState> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile_float(const model::Model& model) {
  auto state = Builder(model.graph, model.opset(), nullptr).build();
  if (!state) return state.error();
  return Program(std::make_unique<const ProgramState>(std::move(*state)));
}

Result<Program> Program::compile(const model::Model& artifact, const ArithmeticPolicy& policy) {
  auto state = Builder(artifact.graph, artifact.opset(), &policy).build();
  if (!state) return state.error();
  return Program(std::make_unique<const ProgramState>(std::move(*state)));
}

const std::vector<std::string>& Program::integer_nodes() const { return state_->integer_nodes; }

Result<std::vector<core::Tensor>> evaluate_node(const model::Node& node, std::int64_t opset,
                                                std::span<const core::Tensor* const> inputs) {
  std::vector<Buffer> values;
  values.reserve(inputs.size());
  std::vector<const Buffer*> pointers;
  for (const core::Tensor* tensor : inputs) {
    if (tensor == nullptr) {
      pointers.push_back(nullptr);
      continue;
    }
    auto buffer = Buffer::from_tensor(*tensor);
    if (!buffer) return at_node(buffer.error(), node);
    pointers.push_back(&values.emplace_back(std::move(*buffer)));
  }
  const auto kernel = make_float_kernel(node, opset, pointers);
  if (!kernel) return kernel.error();
  std::vector<Buffer> outputs(node.outputs.size());
  if (const auto status = run_kernel(*kernel, {pointers, outputs}); !status) return at_node(status.error(), node);
  std::vector<core::Tensor> tensors;
  tensors.reserve(outputs.size());
  for (const Buffer& output : outputs) tensors.push_back(output.to_tensor());
  return tensors;
}

}  // namespace assay::embedded::engine
