#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/upgrade.hpp"
#include "harness/core/text.hpp"

namespace assay::embedded {

Error refusal(const model::Node& node, std::string reason) {
  return failure_at(node, ErrorKind::unsupported, std::move(reason));
}

Error failure_at(const model::Node& node, ErrorKind kind, std::string reason) {
  Error error{kind, "", node.name, node.op_type, ""};
  error.message = fmt::format("node \"{}\" ({}): {}", node.name, node.op_type, reason);
  return error;
}

namespace {

Status check_weight_type(DType type, std::span<const DType> known) {
  if (std::ranges::find(known, type) != known.end()) return core::success();
  std::vector<std::string> names;
  for (const DType each : known) names.emplace_back(core::dtype_name(each));
  return Error{
      ErrorKind::unsupported,
      fmt::format("weights in {} are not supported; choose one of {}", core::dtype_name(type), core::join(names, ", ")),
      "", "", ""};
}

Status check_options(const converters::Options& options) {
  constexpr std::array kAlone{DType::int8,  DType::uint8,        DType::int4,       DType::uint4,     DType::int2,
                              DType::uint2, DType::float8e4m3fn, DType::float8e5m2, DType::float4e2m1};
  constexpr std::array kBesideActivations{DType::int8, DType::int16, DType::int4};  // their zero point is 0
  constexpr std::array kBesideFloat8{DType::float8e4m3fn, DType::float8e5m2};
  constexpr std::array kDynamic{DType::int8, DType::uint8};
  if (options.weights_only()) return check_weight_type(options.weight, kAlone);
  if (options.dynamic) return check_weight_type(options.weight, kDynamic);
  const std::span<const DType> known = core::is_real(options.activation) ? std::span<const DType>(kBesideFloat8)
                                                                         : std::span<const DType>(kBesideActivations);
  if (auto checked = check_weight_type(options.weight, known); !checked) return checked;
  for (const auto& [name, wanted] : options.precision) {
    if (wanted == "fp16") {
      return Error{ErrorKind::unsupported,
                   fmt::format("precision fp16 (asked for \"{}\") is not supported; choose fp32", name), "", "", ""};
    }
  }
  return core::success();
}

Status check_nodes(const model::Graph& graph) {
  const auto operators = engine::float_operators();
  for (const auto& node : graph.nodes) {
    const auto name = model::operator_name(node);
    if (!node.domain.empty() && std::ranges::find(operators, name) == operators.end()) {
      return refusal(node, fmt::format("the custom operator \"{}\" has no kernel here", name));
    }
    if (node.op_type == "DynamicQuantizeLinear") {
      return refusal(node, "dynamic quantization is not supported; calibrate the float model instead");
    }
  }
  return core::success();
}

Status check_inputs(const model::Graph& graph) {
  for (const auto& input : graph.inputs) {
    if (core::is_real(input.type) && input.type != DType::float32) {
      return Error{ErrorKind::unsupported,
                   fmt::format("input \"{}\" is {}; the converter takes models of float32, float16 and bfloat16",
                               input.name, core::dtype_name(input.type)),
                   "", "", input.name};
    }
  }
  return core::success();
}

}  // namespace

Status check_and_upgrade(State& state) {
  if (auto checked = check_options(state.options); !checked) return checked;
  if (auto checked = check_nodes(state.original.graph); !checked) return checked;
  state.half_ends = widen_halves(state.original);
  if (auto checked = check_inputs(state.original.graph); !checked) return checked;
  state.model = state.original;
  return upgrade_opset(state.model, std::max(state.options.needed_opset(), std::int64_t{kPerAxisOpset}));
}

}  // namespace assay::embedded
