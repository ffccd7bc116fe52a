#include "harness/conformance/float_limits.hpp"

#include <cmath>

#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::conformance {

using core::DType;
using judge::Enclosure;

namespace {

core::TensorPtr finite_part(core::Tensor value) {
  if (value.is_real()) {
    for (double& each : value.reals()) {
      each = std::isfinite(each) ? each : 0.0;
    }
  }
  return std::make_shared<const core::Tensor>(std::move(value));
}

}  // namespace

double unit_roundoff(DType type) {
  switch (type) {
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return judge::kFloatUnit;
  }
}

double storage_limit(double expected, DType type) {
  // Below the least normal the values lie as far apart as just above it.
  const double least_normal = type == DType::float16 ? 0x1p-14 : 0x1p-126;
  return unit_roundoff(type) * std::max(std::abs(expected), least_normal);
}

core::Result<std::map<std::string, std::vector<double>>> arithmetic_limits(const model::Model& model,
                                                                           const core::TensorMap& inputs, double unit) {
  const judge::Arithmetic arithmetic{.float_unit = unit, .accumulator_unit = unit};
  const model::Wiring wiring(model.graph);
  std::map<std::string, Enclosure> values;
  for (const auto& [name, value] : model.graph.initializers) {
    values.emplace(name, judge::exact_enclosure(finite_part(*value)));
  }
  for (const auto& [name, value] : inputs) {
    values.emplace(name, judge::exact_enclosure(finite_part(value)));
  }
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const model::Node& node = model.graph.nodes[i];
    if (!model::captured_names(node).empty()) {
      return core::Error{core::ErrorKind::unsupported, "a subgraph that reads from outside", node.name, node.op_type,
                         ""};
    }
    std::vector<const Enclosure*> operands;
    for (const std::string& name : node.inputs) {
      operands.push_back(name.empty() ? nullptr : &values.at(name));
    }
    core::Result<std::vector<Enclosure>> outputs =
        judge::enclose_node(node, model.opsets.at(node.domain), operands, arithmetic);
    if (!outputs) {
      return outputs.error();
    }
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs->size(); ++k) {
      if (!node.outputs[k].empty()) {
        values.insert_or_assign(node.outputs[k], std::move((*outputs)[k]));
      }
    }
    for (const std::string& name : node.inputs) {  // freed after its last reader
      if (!name.empty() && !wiring.is_output(name) && wiring.consumers(name).back() == i) {
        values.erase(name);
      }
    }
  }
  std::map<std::string, std::vector<double>> limits;
  for (const model::ValueInfo& output : model.graph.outputs) {
    limits.emplace(output.name, judge::radius_of(values.at(output.name)));
  }
  return limits;
}

double statistical_limit(double unit, double terms, double elements, double scale) {
  constexpr double kFalseAlarms = 1e-6;
  return std::sqrt(2 * std::log(2 * std::max(elements, 1.0) / kFalseAlarms)) * unit * std::sqrt(terms) * scale;
}

}  // namespace assay::conformance
