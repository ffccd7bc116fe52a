// What engines get wrong of codes of float8.
#include <cmath>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"
#include "harness/core/float_format.hpp"

namespace assay::embedded::edits {
namespace {

/// The constant codes of float8 that DequantizeLinear nodes read, each as `change` gives it.
void change_constants(model::Graph& graph, double (*change)(double code, DType type)) {
  for (auto& node : graph.nodes) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    if (codes == nullptr || !codes->is_real()) continue;
    auto read = codes->to_reals();
    for (double& code : read) code = change(code, codes->type());
    node.inputs[0] = put(graph, node.inputs[0], coded(std::move(read), *codes));
  }
}

}  // namespace

void overflow_to_nan(model::Model& artifact) {
  for (auto& node : artifact.graph.nodes) {
    const auto* zero = is_op(node, "QuantizeLinear") ? artifact.graph.initializer(node.input(2)) : nullptr;
    if (zero != nullptr && zero->is_real()) node.attributes["saturate"] = std::int64_t{0};
  }
}

void flush_subnormals(model::Model& artifact) {
  change_constants(artifact.graph, [](double code, DType type) {
    return std::fabs(code) < std::ldexp(1.0, core::float_format(type).min_exponent()) ? 0.0 : code;
  });
}

void read_with_another_bias(model::Model& artifact) {
  change_constants(artifact.graph, [](double code, DType type) { return core::nearest_code(code / 2, type); });
}

}  // namespace assay::embedded::edits
