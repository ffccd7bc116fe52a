#include "reference/infer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reference/op.hpp"
#include "reference/op_checks.hpp"
#include "reference/partial_values.hpp"

namespace assay::reference {
namespace {

using Opsets = std::map<std::string, std::int64_t>;
using NamedFacts = std::map<std::string, TensorFacts>;

core::Error declared_error(const std::string& tensor, std::string message) {
  return {
      .kind = core::ErrorKind::invalid_model, .message = std::move(message), .node = {}, .op = {}, .tensor = tensor};
}

/// `facts` with what `declared` adds. Errors   the two can't both hold.
Result<TensorFacts> with_declared(const std::string& name, TensorFacts facts, const TensorFacts& declared) {
  const bool types = facts.type == DType::undefined || declared.type == DType::undefined || facts.type == declared.type;
  const bool shapes = !facts.shape || !declared.shape || may_equal(*facts.shape, *declared.shape);
  if (!types || !shapes) {
    return declared_error(name, fmt::format("\"{}\" is declared {}, but the operators' rules give {}", name,
                                            facts_text(declared), facts_text(facts)));
  }
  if (facts.type == DType::undefined) facts.type = declared.type;
  if (!facts.shape) {
    facts.shape = declared.shape;
  } else if (declared.shape) {
    std::ranges::transform(*facts.shape, *declared.shape, facts.shape->begin(), &sharper);
  }
  return facts;
}

/// What becomes of a node whose rule is broken.
enum class BrokenRules {
  error,
  skipped,  ///< its outputs are what they are declared to be
};

/// What the graph and its subgraphs share.
struct InferenceWalk {
  const Opsets& opsets;
  BrokenRules broken = BrokenRules::error;
  /// The first declaration that can't hold. It is an error even in a branch that the rule of If does without.
  std::optional<core::Error> contradiction;
};

/// Infers one graph; a subgraph sees the facts of the graphs around it.
class GraphInference {
 public:
  GraphInference(const model::Graph& graph, InferenceWalk& walk, const GraphInference* outer)
      : graph_(graph), walk_(walk), outer_(outer) {
    for (const auto* list : {&graph.value_info, &graph.outputs}) {
      // Of several declarations the last one holds, for ONNX's checker and for ONNX Runtime.
      for (const model::ValueInfo& info : *list) declared_.insert_or_assign(info.name, facts_of(info));
    }
  }

  /// `bound` are the graph's inputs; without it they are what they are declared to be.
  Result<std::vector<TensorFacts>> run(const NamedFacts& bound) {
    for (const auto& [name, value] : graph_.initializers) facts_[name] = facts_of(value);
    for (const model::ValueInfo& input : graph_.inputs) {
      const auto given = bound.find(input.name);
      auto facts = given == bound.end() ? facts_of(input) : reconciled(input.name, given->second, facts_of(input));
      if (!facts) return facts.error();
      facts_[input.name] = std::move(*facts);
    }
    for (const Node& node : graph_.nodes) {
      if (const auto status = infer_node(node); !status) return status.error();
    }
    std::vector<TensorFacts> results;
    for (const model::ValueInfo& output : graph_.outputs) {
      const TensorFacts* facts = find(output.name);
      auto result = reconciled(output.name, facts == nullptr ? TensorFacts() : *facts, facts_of(output));
      if (!result) return result.error();
      results.push_back(std::move(*result));
    }
    return results;
  }

  [[nodiscard]] const NamedFacts& facts() const { return facts_; }

 private:
  /// The error with the node's tensors: what it reads, and its first output as the tensor that can't be.
  [[nodiscard]] core::Error broken_rule(const Node& node, core::Error error) const {
    std::string inputs;
    for (const std::string& name : node.inputs) {
      const TensorFacts* facts = name.empty() ? nullptr : find(name);
      if (facts != nullptr) inputs += fmt::format("{}\"{}\" {}", inputs.empty() ? "" : ", ", name, facts_text(*facts));
    }
    if (error.tensor.empty() && !node.outputs.empty()) error.tensor = node.outputs.front();
    if (!inputs.empty() && error.node.empty()) error.message += "; the inputs are " + inputs;
    return node_error(node, std::move(error));
  }

  /// `facts` with what is declared of the tensor.
  Result<TensorFacts> reconciled(const std::string& name, TensorFacts facts, const TensorFacts& declared) {
    auto both = with_declared(name, std::move(facts), declared);
    if (!both && !walk_.contradiction) walk_.contradiction = both.error();
    return both;
  }

  [[nodiscard]] const TensorFacts* find(const std::string& name) const {
    for (const GraphInference* graph = this; graph != nullptr; graph = graph->outer_) {
      const auto found = graph->facts_.find(name);
      if (found != graph->facts_.end()) return &found->second;
    }
    return nullptr;
  }

  core::Status infer_node(const Node& node) {
    auto outputs = outputs_of(node);
    if (walk_.contradiction) return node_error(node, *walk_.contradiction);
    const bool broken = !outputs && outputs.error().kind != core::ErrorKind::unsupported;
    if (broken && walk_.broken == BrokenRules::error) return broken_rule(node, outputs.error());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = node.outputs[i];
      if (name.empty()) continue;
      TensorFacts facts = outputs && i < outputs->size() ? std::move((*outputs)[i]) : TensorFacts();
      if (const auto declared = declared_.find(name); declared != declared_.end()) {
        auto both = reconciled(name, std::move(facts), declared->second);
        if (!both) return node_error(node, both.error());
        facts = std::move(*both);
      }
      facts_[name] = std::move(facts);
    }
    return core::success();
  }

  Result<std::vector<TensorFacts>> outputs_of(const Node& node) const {
    const auto opset = walk_.opsets.find(node.domain);
    const auto op = operator_for(node, opset == walk_.opsets.end() ? 0 : opset->second, node.inputs.size(),
                                 [&](std::size_t i) { return !node.inputs[i].empty(); });
    if (!op) return op.error();
    if ((*op)->infer == nullptr) return std::vector<TensorFacts>();
    static const TensorFacts nothing;
    std::vector<const TensorFacts*> inputs;
    for (const std::string& name : node.inputs) {
      const TensorFacts* facts = name.empty() ? nullptr : find(name);
      inputs.push_back(name.empty() || facts != nullptr ? facts : &nothing);
    }
    const SubgraphInference subgraphs = [this](const model::Graph& graph, const NamedFacts& bound) {
      return GraphInference(graph, walk_, this).run(bound);
    };
    const ShapeCall call{.node = node, .opset = opset->second, .inputs = inputs, .infer_subgraph = &subgraphs};
    const std::int64_t forms = version_of_forms(node, call.opset, walk_.opsets);
    if (auto status = check_attribute_versions(**op, node, forms); !status) return status.error();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      const auto status = check_type_version(**op, forms, inputs[i]->type, [&] { return input_text(call, i); });
      if (!status) return status.error();
    }
    auto outputs = (*op)->infer(call);
    for (std::size_t i = 0; outputs && i < std::min(outputs->size(), node.outputs.size()); ++i) {
      const auto status = check_type_version(**op, forms, (*outputs)[i].type, [&] { return output_text(node, i); });
      if (!status) return status.error();
    }
    if (outputs) add_values(**op, call, *outputs);
    return outputs;
  }

  const model::Graph& graph_;
  InferenceWalk& walk_;
  const GraphInference* outer_;
  NamedFacts declared_;
  NamedFacts facts_;
};

}  // namespace

Result<std::map<std::string, model::ValueInfo>> infer_shapes(const model::Model& model) {
  InferenceWalk walk{.opsets = model.opsets, .broken = BrokenRules::error, .contradiction = {}};
  GraphInference inference(model.graph, walk, nullptr);
  const auto outputs = inference.run({});
  if (!outputs) return outputs.error();
  std::map<std::string, model::ValueInfo> infos;
  for (const auto& [name, facts] : inference.facts()) {
    infos[name] = {.name = name, .type = facts.type, .shape = facts.shape};
  }
  return infos;
}

core::Status check_declarations(const model::Model& model) {
  InferenceWalk walk{.opsets = model.opsets, .broken = BrokenRules::skipped, .contradiction = {}};
  const auto outputs = GraphInference(model.graph, walk, nullptr).run({});
  if (!outputs) return outputs.error();
  return core::success();
}

}  // namespace assay::reference
