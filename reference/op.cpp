#include "reference/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "reference/op_table.hpp"

namespace assay::reference {
namespace {

std::tuple<std::string_view, std::string_view> key(const OpDef* op) { return {op->domain, op->name}; }

const std::vector<const OpDef*>& sorted_operators() {
  static const std::vector<const OpDef*> operators = [] {
    std::vector<const OpDef*> list = listed_operators();
    std::sort(list.begin(), list.end(), [](const OpDef* a, const OpDef* b) { return key(a) < key(b); });
    return list;
  }();
  return operators;
}

}  // namespace

std::span<const OpDef* const> all_operators() { return sorted_operators(); }

const OpDef* find_operator(std::string_view domain, std::string_view name) {
  const std::vector<const OpDef*>& operators = sorted_operators();
  const std::tuple<std::string_view, std::string_view> wanted{domain, name};
  const auto found = std::lower_bound(operators.begin(), operators.end(), wanted,
                                      [](const OpDef* op, const auto& value) { return key(op) < value; });
  return found != operators.end() && key(*found) == wanted ? *found : nullptr;
}

Result<const OpDef*> operator_for(const Node& node, std::int64_t opset, std::size_t inputs,
                                  const std::function<bool(std::size_t)>& has_input) {
  const OpDef* op = find_operator(node.domain, node.op_type);
  if (op == nullptr) {
    return op_unsupported(fmt::format("the reference has no operator \"{}\" in domain \"{}\"", node.op_type,
                                      node.domain.empty() ? "ai.onnx" : node.domain));
  }
  if (opset < op->first_opset || opset > op->last_opset) {
    return op_unsupported(fmt::format("the reference knows {} at opset {} to {}, the model imports opset {}", op->name,
                                      op->first_opset, op->last_opset, opset));
  }
  if (inputs > op->max_inputs) {
    return op_error(fmt::format("has {} inputs, expected at most {}", inputs, op->max_inputs));
  }
  for (std::size_t i = 0; i < op->min_inputs; ++i) {
    if (i >= inputs || !has_input(i)) {
      return op_error(fmt::format("input {} is missing; expected at least {} inputs", i, op->min_inputs));
    }
  }
  return op;
}

core::Error node_error(const Node& node, core::Error error) {
  error.message = fmt::format("node \"{}\" ({}): {}", node.name, model::operator_name(node), error.message);
  if (error.node.empty()) {  // else a node inside a subgraph of this one
    error.node = node.name;
    error.op = node.op_type;
  }
  return error;
}

core::Error op_error(std::string message) {
  return {.kind = core::ErrorKind::invalid_model, .message = std::move(message), .node = {}, .op = {}, .tensor = {}};
}

core::Error op_unsupported(std::string message) {
  return {.kind = core::ErrorKind::unsupported, .message = std::move(message), .node = {}, .op = {}, .tensor = {}};
}

}  // namespace assay::reference
