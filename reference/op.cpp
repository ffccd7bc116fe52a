#include "reference/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
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

/// Since which version ONNX has a type at all, where that isn't the first that is read.
constexpr std::array kYoungTypes{
    TypeVersion{DType::bfloat16, 13},   TypeVersion{DType::float8e4m3fn, 19},   TypeVersion{DType::float8e4m3fnuz, 19},
    TypeVersion{DType::float8e5m2, 19}, TypeVersion{DType::float8e5m2fnuz, 19}, TypeVersion{DType::int4, 21},
    TypeVersion{DType::uint4, 21},      TypeVersion{DType::float4e2m1, 23},     TypeVersion{DType::float8e8m0, 24},
    TypeVersion{DType::int2, 25},       TypeVersion{DType::uint2, 25}};

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

core::Status check_attribute_versions(const OpDef& op, const Node& node, std::int64_t opset) {
  for (const auto& [name, since] : op.attributes) {
    if (!op.domain.empty() || opset >= since || !node.has(name)) continue;
    return op_error(
        fmt::format("has attribute {}, which is of opset {}; the model imports opset {}", name, since, opset));
  }
  return core::success();
}

std::int64_t version_of_forms(const Node& node, std::int64_t opset, const std::map<std::string, std::int64_t>& opsets) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  return model::is_quantizer(node) && opsets.contains("com.microsoft") ? kAny : opset;
}

core::Status check_type_version(const OpDef& op, std::int64_t opset, DType type,
                                const std::function<std::string()>& place) {
  if (!op.domain.empty()) return core::success();
  for (const std::span<const TypeVersion> versions : {op.types, std::span<const TypeVersion>(kYoungTypes)}) {
    const auto found = std::ranges::find(versions, type, &TypeVersion::type);
    if (found == versions.end() || opset >= found->opset) continue;
    return op_error(fmt::format("{} has type {}, which {} takes since opset {}; the model imports opset {}", place(),
                                core::dtype_name(type), op.name, found->opset, opset));
  }
  return core::success();
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
