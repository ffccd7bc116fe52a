#include "reference/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "harness/core/text.hpp"
#include "reference/op.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {
namespace {

using core::Error;
using core::ErrorKind;
using core::Status;
using core::TensorPtr;

Error data_error(const std::string& tensor, std::string message) {
  return {.kind = ErrorKind::invalid_data, .message = std::move(message), .node = {}, .op = {}, .tensor = tensor};
}

/// A tensor that somebody else keeps alive.
TensorPtr borrowed(const Tensor& tensor) { return {TensorPtr(), &tensor}; }

/// What one execution holds and has done, its subgraphs included.
struct Budget {
  RunLimits limits;
  std::int64_t elements = 0;  ///< of the tensors that nodes made and that are still to be read
  std::int64_t runs = 0;      ///< of nodes and subgraphs

  [[nodiscard]] Status spend_run() {
    if (++runs <= limits.runs) return core::success();
    return op_unsupported(fmt::format("its loops make the graph run more than {} nodes, the limit", limits.runs));
  }
  [[nodiscard]] Status spend(const std::string& tensor, std::int64_t count) {
    elements += count;
    if (elements <= limits.elements) return core::success();
    return op_unsupported(fmt::format(
        "with \"{}\" ({} elements) the tensors that are needed at a time have {}, more than the limit of {}", tensor,
        count, elements, limits.elements));
  }
};

/// The values visible while a graph runs. A subgraph sees its own and, behind them, those of the graphs around it.
class Scope {
 public:
  explicit Scope(const Scope* outer, const OuterTensor* beyond = nullptr) : outer_(outer), beyond_(beyond) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    for (const auto& [name, count] : made_) budget_->elements -= count;
  }

  [[nodiscard]] TensorPtr find(const std::string& name) const {
    const Scope* outermost = this;
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
      const auto found = scope->values_.find(name);
      if (found != scope->values_.end()) {
        return found->second;
      }
      outermost = scope;
    }
    return outermost->beyond_ != nullptr && *outermost->beyond_ ? (*outermost->beyond_)(name) : nullptr;
  }
  void bind(const std::string& name, TensorPtr value) { values_[name] = std::move(value); }
  /// The same of what a node made, which counts until it is freed.
  [[nodiscard]] Status bind_made(const std::string& name, TensorPtr value, Budget& budget) {
    budget_ = &budget;
    const std::int64_t count = value->size();
    made_[name] += count;
    bind(name, std::move(value));
    return budget.spend(name, count);
  }
  void free(const std::string& name) {
    values_.erase(name);
    const auto made = made_.find(name);
    if (made == made_.end()) return;
    budget_->elements -= made->second;
    made_.erase(made);
  }

 private:
  const Scope* outer_;
  const OuterTensor* beyond_;  ///< of the outermost scope: names that no graph here makes
  std::unordered_map<std::string, TensorPtr> values_;
  std::unordered_map<std::string, std::int64_t> made_;  ///< elements of those that nodes made
  Budget* budget_ = nullptr;                            ///< that these are spent of
};

/// Every name that `node` reads, in its own inputs or from inside its subgraphs.
std::vector<std::string> names_read(const Node& node) {
  std::vector<std::string> names = model::captured_names(node);
  for (const std::string& input : node.inputs) {
    if (!input.empty()) {
      names.push_back(input);
    }
  }
  return names;
}

/// For each node, the names that no later node and no graph output reads.
std::vector<std::vector<std::string>> last_reads(const model::Graph& graph) {
  std::unordered_map<std::string, bool> needed;
  for (const model::ValueInfo& output : graph.outputs) {
    needed[output.name] = true;
  }
  std::vector<std::vector<std::string>> result(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    std::vector<std::string> names = names_read(graph.nodes[i]);
    names.insert(names.end(), graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
    for (const std::string& name : names) {
      if (!needed[name]) {
        needed[name] = true;
        result[i].push_back(name);
      }
    }
  }
  return result;
}

/// The reference's form of `node`'s operator at `opset`, with its number of inputs checked.
Result<const OpDef*> operator_of(const Node& node, std::int64_t opset, std::span<const Tensor* const> inputs) {
  return operator_for(node, opset, inputs.size(), [&](std::size_t i) { return inputs[i] != nullptr; });
}

/// Runs the kernel; running out of memory is an error like any other.
Result<std::vector<Tensor>> run_kernel(const OpDef& op, const OpCall& call) {
  try {
    return op.run(call);
  } catch (const std::bad_alloc&) {
    return op_unsupported("its tensors do not fit into memory");
  } catch (const std::length_error&) {
    return op_unsupported("its tensors do not fit into memory");
  }
}

using Opsets = std::map<std::string, std::int64_t>;

/// Runs `graph` with `bound` added to what `outer` (may be null) makes visible.
Result<std::vector<Tensor>> run_subgraph(const model::Graph& graph, const Opsets& opsets, const Scope* outer,
                                         const TensorMap& bound, const RunOptions& options, Budget& budget);

class GraphRun {
 public:
  GraphRun(const model::Graph& graph, const Opsets& opsets, const Scope* outer, const RunOptions& options,
           Budget& budget)
      : graph_(graph),
        opsets_(opsets),
        scope_(outer),
        is_subgraph_(outer != nullptr),
        options_(options),
        budget_(budget) {}

  /// Makes `value` visible under `name`.
  void bind(const std::string& name, TensorPtr value) {
    observe(name, *value);
    scope_.bind(name, std::move(value));
  }

  /// Runs every node. Results in the order of the graph's outputs.
  Result<std::vector<TensorPtr>> run() {
    if (const Status status = budget_.spend_run(); !status) {
      return status.error();
    }
    for (const auto& [name, value] : graph_.initializers) {
      bind(name, value);
    }
    const std::vector<std::vector<std::string>> freed_after = last_reads(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (const Status status = run_node(node); !status) {
        return node_error(node, status.error());
      }
      for (const std::string& name : freed_after[i]) {
        scope_.free(name);
      }
    }
    std::vector<TensorPtr> results;
    for (const model::ValueInfo& output : graph_.outputs) {
      TensorPtr value = scope_.find(output.name);
      if (value == nullptr) {
        return op_error(fmt::format("nothing in graph \"{}\" makes its output \"{}\"", graph_.name, output.name));
      }
      results.push_back(std::move(value));
    }
    return results;
  }

 private:
  void observe(const std::string& name, const Tensor& value) const {
    if (options_.observe && !is_subgraph_) {
      options_.observe(name, value);
    }
  }

  Status run_node(const Node& node) {
    if (Status status = budget_.spend_run(); !status) {
      return status;
    }
    const auto opset = opsets_.find(node.domain);
    if (opset == opsets_.end() && find_operator(node.domain, node.op_type) != nullptr) {
      return op_error(fmt::format("the model imports no opset for domain \"{}\"", node.domain));
    }
    std::vector<TensorPtr> held;
    std::vector<const Tensor*> inputs;
    for (const std::string& name : node.inputs) {
      held.push_back(name.empty() ? nullptr : scope_.find(name));
      if (!name.empty() && held.back() == nullptr) {
        return op_error(fmt::format("input \"{}\" is made by no node before this one", name));
      }
      inputs.push_back(held.back().get());
    }
    const std::int64_t version = opset == opsets_.end() ? 0 : opset->second;
    if (auto others = options_.substitute ? options_.substitute(node, version, inputs) : std::nullopt) {
      return *others ? bind_outputs(node, *std::move(*others)) : Status(others->error());
    }
    const Result<const OpDef*> op = operator_of(node, version, inputs);
    if (!op) {
      return op.error();
    }
    const OpCall call{.node = node, .opset = version, .inputs = inputs};
    const std::int64_t forms = version_of_forms(node, version, opsets_);
    if (Status status = check_attribute_versions(**op, node, forms); !status) return status;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      Status status = check_type_version(**op, forms, inputs[i]->type(), [&] { return input_text(call, i); });
      if (!status) return status;
    }
    const SubgraphRunner subgraphs = [this](const model::Graph& graph, const TensorMap& bound) {
      return run_subgraph(graph, opsets_, &scope_, bound, options_, budget_);
    };
    Result<std::vector<Tensor>> outputs =
        run_kernel(**op, {.node = node, .opset = version, .inputs = inputs, .run_subgraph = &subgraphs});
    if (!outputs) {
      return outputs.error();
    }
    for (std::size_t i = 0; i < std::min(outputs->size(), node.outputs.size()); ++i) {
      Status status = check_type_version(**op, forms, (*outputs)[i].type(), [&] { return output_text(node, i); });
      if (!status) return status;
    }
    return bind_outputs(node, std::move(*outputs));
  }

  Status bind_outputs(const Node& node, std::vector<Tensor> values) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) {
        continue;
      }
      if (i >= values.size()) {
        return op_unsupported(
            fmt::format("output {} \"{}\" is wanted, the reference makes {}", i, node.outputs[i], values.size()));
      }
      auto value = std::make_shared<const Tensor>(std::move(values[i]));
      observe(node.outputs[i], *value);
      if (Status status = scope_.bind_made(node.outputs[i], std::move(value), budget_); !status) {
        return status;
      }
    }
    return core::success();
  }

  const model::Graph& graph_;
  const Opsets& opsets_;
  Scope scope_;
  bool is_subgraph_;
  const RunOptions& options_;
  Budget& budget_;
};

Result<std::vector<Tensor>> run_subgraph(const model::Graph& graph, const Opsets& opsets, const Scope* outer,
                                         const TensorMap& bound, const RunOptions& options, Budget& budget) {
  GraphRun run(graph, opsets, outer, options, budget);
  for (const auto& [name, value] : bound) {
    run.bind(name, borrowed(value));
  }
  for (const model::ValueInfo& input : graph.inputs) {
    if (!bound.contains(input.name)) {
      return op_error(fmt::format("subgraph \"{}\": input \"{}\" is not bound", graph.name, input.name));
    }
  }
  const Result<std::vector<TensorPtr>> results = run.run();
  if (!results) {
    return results.error().within(fmt::format("subgraph \"{}\"", graph.name));
  }
  std::vector<Tensor> copies;
  for (const TensorPtr& result : *results) {
    copies.push_back(*result);
  }
  return copies;
}

/// Checks the type and shape of the data for `declared`; `symbols` collects the sizes of named extents.
Status check_input(const model::ValueInfo& declared, const Tensor& value,
                   std::map<std::string, std::int64_t>& symbols) {
  if (declared.type != core::DType::undefined && declared.type != value.type()) {
    return data_error(declared.name, fmt::format("input \"{}\" is declared {}, the data is {}", declared.name,
                                                 core::dtype_name(declared.type), core::dtype_name(value.type())));
  }
  if (!declared.shape) {
    return core::success();
  }
  if (static_cast<std::int64_t>(declared.shape->size()) != value.rank()) {
    return data_error(declared.name,
                      fmt::format("input \"{}\" is declared with rank {}, the data has shape {}", declared.name,
                                  declared.shape->size(), core::shape_text(value.shape())));
  }
  for (std::size_t axis = 0; axis < declared.shape->size(); ++axis) {
    const model::Dimension& dimension = (*declared.shape)[axis];
    const std::int64_t actual = value.shape()[axis];
    if (dimension.value && *dimension.value >= 0 && *dimension.value != actual) {
      return data_error(declared.name,
                        fmt::format("input \"{}\" is declared with extent {} at axis {}, the data has shape {}",
                                    declared.name, *dimension.value, axis, core::shape_text(value.shape())));
    }
    if (!dimension.value && !dimension.symbol.empty()) {
      const auto [known, added] = symbols.try_emplace(dimension.symbol, actual);
      if (!added && known->second != actual) {
        return data_error(declared.name,
                          fmt::format("input \"{}\" has extent {} at axis {}, but \"{}\" is {} in another input",
                                      declared.name, actual, axis, dimension.symbol, known->second));
      }
    }
  }
  return core::success();
}

Status check_inputs(const model::Graph& graph, const TensorMap& inputs) {
  std::vector<std::string> declared;
  for (const model::ValueInfo& input : graph.inputs) {
    declared.push_back(input.name);
  }
  for (const auto& [name, value] : inputs) {
    if (graph.find_input(name) == nullptr) {
      return data_error(name, fmt::format("the model has no input \"{}\"; it has {}", name,
                                          core::join(core::nearest(name, declared), ", ")));
    }
  }
  std::map<std::string, std::int64_t> symbols;
  for (const model::ValueInfo& input : graph.inputs) {
    const auto found = inputs.find(input.name);
    if (found == inputs.end()) {
      return data_error(input.name, fmt::format("no data for input \"{}\"", input.name));
    }
    if (Status status = check_input(input, found->second, symbols); !status) {
      return status;
    }
  }
  return core::success();
}

}  // namespace

Result<TensorMap> execute(const model::Model& model, const TensorMap& inputs, const RunOptions& options) {
  if (const Status status = check_inputs(model.graph, inputs); !status) {
    return status.error();
  }
  Budget budget{options.limits};
  GraphRun run(model.graph, model.opsets, nullptr, options, budget);
  for (const auto& [name, value] : inputs) {
    run.bind(name, borrowed(value));
  }
  const Result<std::vector<TensorPtr>> results = run.run();
  if (!results) {
    return results.error();
  }
  TensorMap named;
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i) {
    named.emplace(model.graph.outputs[i].name, *(*results)[i]);
  }
  return named;
}

Result<std::vector<Tensor>> execute_node(const Node& node, std::int64_t opset, std::span<const Tensor* const> inputs,
                                         const OuterTensor& outer) {
  const Result<const OpDef*> op = operator_of(node, opset, inputs);
  if (!op) {
    return node_error(node, op.error());
  }
  const Opsets opsets{{node.domain, opset}};
  const Scope around(nullptr, &outer);
  Budget budget{RunLimits()};
  const SubgraphRunner subgraphs = [&](const model::Graph& graph, const TensorMap& bound) {
    return run_subgraph(graph, opsets, &around, bound, {}, budget);
  };
  Result<std::vector<Tensor>> outputs =
      run_kernel(**op, {.node = node, .opset = opset, .inputs = inputs, .run_subgraph = &subgraphs});
  if (!outputs) {
    return node_error(node, outputs.error());
  }
  return outputs;
}

}  // namespace assay::reference
