#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/core/float_format.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::Error;
using core::QuantParams;
using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Node;

/// The value of a Constant node, in whichever of its attributes it stands.
TensorPtr constant_value(const Node& node) {
  if (TensorPtr value = node.tensor("value")) return value;
  const auto make = [](Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); };
  if (node.has("value_float")) return make(Tensor::scalar(core::DType::float32, node.float_or("value_float", 0)));
  if (node.has("value_int")) {
    return make(Tensor(core::DType::int64, {}, std::vector<std::int64_t>{node.int_or("value_int", 0)}));
  }
  if (node.has("value_floats")) {
    std::vector<double> values = node.floats_or("value_floats");
    const auto count = static_cast<std::int64_t>(values.size());
    return make(Tensor(core::DType::float32, {count}, std::move(values)));
  }
  if (node.has("value_ints")) {
    std::vector<std::int64_t> values = node.ints_or("value_ints");
    const auto count = static_cast<std::int64_t>(values.size());
    return make(Tensor(core::DType::int64, {count}, std::move(values)));
  }
  return nullptr;
}

/// A constant behind a Cast between types of one kind (exporters put scales there) or of integers to reals; null
/// otherwise.
TensorPtr cast_constant(const Node& node, const TensorPtr& value) {
  const auto type = static_cast<core::DType>(node.int_or("to", 0));
  if (value == nullptr || core::element_size_bits(type) == 0) return nullptr;
  if (core::is_real(type) && !value->is_real())
    return std::make_shared<const Tensor>(core::rounded_to_type(Tensor(type, value->shape(), value->to_reals())));
  if (core::is_real(type) != value->is_real()) return nullptr;
  if (!value->is_real()) {
    const auto limits = core::integer_limits(type);
    const auto fits = [&](std::int64_t code) { return code >= limits.low && code <= limits.high; };
    if (!std::ranges::all_of(value->integers(), fits)) return nullptr;
  }
  Tensor copy = *value;
  return std::make_shared<const Tensor>(core::rounded_to_type(std::move(copy).relabeled(type)));
}

/// The scales of blocks have the shape of what they scale, with the number of blocks along the axis.
core::Status check_blocks(const Node& node, const Tensor& scale, core::Shape shape, std::int64_t axis,
                          std::int64_t block) {
  const auto name = [&] {
    return fmt::format("scale \"{}\" has shape {}", node.input(1), core::shape_text(scale.shape()));
  };
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    return broken_node(node, fmt::format("{}, but axis {} is outside {}", name(), axis, core::shape_text(shape)));
  std::int64_t& extent = shape[static_cast<std::size_t>(axis)];
  extent = reference::QuantLayout{.split = {.extent = extent}, .block_size = block}.blocks();
  if (scale.shape() == shape) return core::success();
  return broken_node(node, fmt::format("{}, expected {} for blocks of {} along axis {}", name(),
                                       core::shape_text(shape), block, axis));
}

}  // namespace

Error broken_node(const Node& node, std::string message) {
  return {core::ErrorKind::invalid_model, std::move(message), node.name, node.op_type, {}};
}

TensorPtr find_constant(const Constants& constants, std::string_view name) {
  const auto found = constants.find(name);
  return found == constants.end() ? nullptr : found->second;
}

bool has_matrix_bias(const Node& node, const Constants& constants) {
  if (traits_of(node).product != Product::gemm) return false;
  const auto bias = constants.find(node.input(2));
  return bias != constants.end() && bias->second->rank() == 2 && bias->second->shape()[0] != 1;
}

bool only_moves(const Node& node, const Constants& constants) {
  const bool pads = traits_of(node).movement == Movement::pads && node.string_or("mode", "constant") == "constant";
  const TensorPtr value = pads ? find_constant(constants, node.input(2)) : nullptr;
  if (value == nullptr) return only_moves(node);
  return value->is_real() && value->size() == 1 && value->as_real(0) == 0;
}

QuantParams quantizer_steps(const Node& quantizer, const Tensor& scale, std::int64_t rank) {
  QuantParams steps;
  steps.scale = scale.to_reals();
  if (steps.scale.size() == 1) return steps;
  const std::int64_t axis = quantizer.int_or("axis", 1);
  steps.axis = axis < 0 ? axis + rank : axis;
  steps.block = quantizer.int_or("block_size", 0);
  return steps;
}

core::TensorPtr bias_on_codes(const ArtifactView& view, const ArtifactNode& made, double alpha) {
  const auto has_scale = [](const Operand& operand) { return operand.params && operand.params->scale.size() == 1; };
  if (!sums_products(made.op) || made.inputs.size() < 2 || !has_scale(made.inputs[0])) return nullptr;
  std::optional<core::Tensor> largest;
  for (const ArtifactNode& node : view.nodes()) {
    const bool shares =
        &node == &made || (node.op == made.op && node.inputs.size() > kBias && !node.inputs[1].codes.empty() &&
                           node.inputs[1].codes == made.inputs[1].codes);
    if (!shares || node.inputs.size() <= kBias || !node.inputs[kBias].quantized() || !has_scale(node.inputs[0]))
      continue;
    const core::TensorPtr bias = dequantized_constant(node.inputs[kBias]);
    if (bias == nullptr) continue;
    // In the steps of the node's own operand.
    const double factor = alpha * made.inputs[0].params->scale.front() / node.inputs[0].params->scale.front();
    core::Tensor scaled = *bias;
    for (double& value : scaled.reals()) value = std::fabs(value) * factor;
    if (!largest || largest->size() != scaled.size()) {
      if (!largest || &node == &made) largest = std::move(scaled);
      continue;
    }
    for (std::size_t c = 0; c < scaled.reals().size(); ++c)
      largest->reals()[c] = std::max(largest->reals()[c], scaled.reals()[c]);
  }
  return largest ? std::make_shared<const core::Tensor>(*std::move(largest)) : nullptr;
}

Result<QuantParams> make_params(const Node& node, const Constants& constants, std::string_view scale_name,
                                std::string_view zero_point_name, core::DType fallback_type, std::int64_t axis,
                                std::int64_t block) {
  const TensorPtr scale = find_constant(constants, scale_name);
  if (scale == nullptr || !scale->is_real()) {
    return broken_node(node, fmt::format("scale \"{}\" isn't a float constant, so it can't be audited", scale_name));
  }
  if (scale->size() == 0) return broken_node(node, fmt::format("scale \"{}\" is empty", scale_name));
  if (block < 0) return broken_node(node, fmt::format("block_size is {}, expected at least 1", block));
  if (block == 0 && scale->rank() > 1 && scale->size() > 1) {
    return broken_node(
        node, fmt::format("scale \"{}\" has shape {}, expected a scalar or one scale per index of the axis", scale_name,
                          core::shape_text(scale->shape())));
  }
  QuantParams params;
  params.scale = scale->to_reals();
  params.unit = half_unit(scale->type());
  if (scale->type() == core::DType::float8e8m0) params.scale_type = scale->type();
  if (const auto coded = constants.coded_scales.find(scale_name); coded != constants.coded_scales.end()) {
    params.scale_type = coded->second.type;
    params.scale_step = coded->second.scale;
    if (params.scale_step.size() != params.scale.size()) params.scale_step = {std::ranges::max(params.scale_step)};
  }
  params.type = fallback_type;
  params.zero_point.assign(params.scale.size(), 0);
  if (!zero_point_name.empty()) {
    const TensorPtr zero_point = find_constant(constants, zero_point_name);
    if (zero_point == nullptr || !core::is_code_type(zero_point->type())) {
      return broken_node(node, fmt::format("zero_point \"{}\" isn't a constant of codes", zero_point_name));
    }
    if (zero_point->is_real() && std::ranges::any_of(zero_point->reals(), [](double z) { return z != 0; })) {
      return broken_node(node, fmt::format("zero_point \"{}\" of type {} isn't 0", zero_point_name,
                                           core::dtype_name(zero_point->type())));
    }
    if (zero_point->size() != scale->size() && (zero_point->size() != 1 || zero_point->rank() > 1)) {
      return broken_node(node, fmt::format("{} scales \"{}\" but {} zero points \"{}\"", scale->size(), scale_name,
                                           zero_point->size(), zero_point_name));
    }
    params.type = zero_point->type();
    params.zero_point = zero_point->to_integers();
    params.zero_point.resize(params.scale.size(), params.zero_point.empty() ? 0 : params.zero_point.front());
  }
  if (params.scale.size() > 1) {
    params.axis = axis;
    params.block = block;
  }
  return params;
}

/// What a node makes of constants alone, where every opset from 7 on says the same of it.
TensorPtr folded_constant(const Node& node, const Constants& constants) {
  constexpr std::int64_t kOpset = 13;
  if (!traits_of(node).unchanged_since_7) return nullptr;
  std::vector<TensorPtr> inputs;
  std::vector<const Tensor*> raw;
  for (const std::string& name : node.inputs) {
    inputs.push_back(find_constant(constants, name));
    if (inputs.back() == nullptr) return nullptr;
    raw.push_back(inputs.back().get());
  }
  auto outputs = reference::execute_node(node, kOpset, raw);
  return outputs ? std::make_shared<const Tensor>(std::move(outputs->front())) : nullptr;
}

/// A DequantizeLinear of constant codes whose values are scales: notes both.
void take_coded_scales(const Node& node, Constants& constants) {
  const TensorPtr codes = find_constant(constants, node.input(0));
  const auto params =
      codes == nullptr ? core::Result<QuantParams>(broken_node(node, "")) : read_quant_params(node, constants);
  auto values = params ? dequantize_tensor(*codes, *params) : std::nullopt;
  if (!values) return;
  constants[node.outputs.front()] = std::make_shared<const Tensor>(core::rounded_to_type(*std::move(values)));
  constants.coded_scales[node.outputs.front()] = *params;
}

Constants constants_of(const Graph& graph) {
  Constants constants;
  for (const auto& [name, tensor] : graph.initializers) constants[name] = tensor;
  std::set<std::string_view> scales;
  for (const Node& node : graph.nodes)
    if (node.op_type == "DequantizeLinear" || node.op_type == "QuantizeLinear") scales.insert(node.input(1));
  for (const Node& node : graph.nodes) {
    if (node.op_type == "DequantizeLinear" && !node.outputs.empty() && scales.contains(node.outputs.front())) {
      take_coded_scales(node, constants);
      continue;
    }
    if (node.outputs.empty() || !node.domain.empty()) continue;
    TensorPtr value;
    if (node.op_type == "Constant") value = constant_value(node);
    if (node.op_type == "Identity") value = find_constant(constants, node.input(0));
    if (node.op_type == "Cast") value = cast_constant(node, find_constant(constants, node.input(0)));
    if (value == nullptr) value = folded_constant(node, constants);
    if (value != nullptr) constants[node.outputs.front()] = value;
  }
  return constants;
}

std::set<std::string> varying_tensors(const Graph& graph) {
  std::set<std::string> varying;
  for (const model::ValueInfo& input : graph.inputs) varying.insert(input.name);
  const auto varies = [&](const std::string& tensor) { return varying.contains(tensor); };
  for (const Node& node : graph.nodes) {
    const bool follows =
        std::ranges::any_of(node.inputs, varies) || std::ranges::any_of(model::captured_names(node), varies);
    if (follows) varying.insert(node.outputs.begin(), node.outputs.end());
  }
  return varying;
}

Result<QuantParams> read_quant_params(const Node& node, const Constants& constants) {
  core::DType fallback = core::DType::uint8;
  if (node.op_type == "QuantizeLinear" && node.has("output_dtype")) {
    fallback = static_cast<core::DType>(node.int_or("output_dtype", static_cast<std::int64_t>(fallback)));
  }
  if (node.op_type == "DequantizeLinear") {
    if (const TensorPtr codes = find_constant(constants, node.input(0))) fallback = codes->type();
  }
  std::int64_t axis = node.int_or("axis", 1);
  const TensorPtr values = find_constant(constants, node.input(0));
  if (values != nullptr && axis < 0) axis += values->rank();
  const std::int64_t block = node.int_or("block_size", 0);
  if (const TensorPtr scale = find_constant(constants, node.input(1));
      scale != nullptr && values != nullptr && block > 0)
    if (auto status = check_blocks(node, *scale, values->shape(), axis, block); !status) return status.error();
  return make_params(node, constants, node.input(1), node.input(2), fallback, axis, block);
}

std::optional<DynamicCodes> dynamic_codes(const Node& node, const model::Wiring& wiring, const Graph& graph) {
  if (node.op_type == "DynamicQuantizeLinear") {
    if (node.outputs.size() != 3) return std::nullopt;
    return DynamicCodes{node.outputs[0], node.outputs[1], node.outputs[2]};
  }
  if (node.op_type != "QuantizeLinear" || node.outputs.empty()) return std::nullopt;
  std::set<std::string_view> seen;
  std::vector<std::string_view> open{node.input(1)};
  while (!open.empty()) {
    const std::string_view tensor = open.back();
    open.pop_back();
    if (tensor == node.input(0))
      return DynamicCodes{node.outputs[0], std::string(node.input(1)), std::string(node.input(2))};
    const auto maker = seen.insert(tensor).second ? wiring.producer(tensor) : std::nullopt;
    if (maker) open.insert(open.end(), graph.nodes[*maker].inputs.begin(), graph.nodes[*maker].inputs.end());
  }
  return std::nullopt;
}

std::optional<DynamicCodes> dynamic_codes_behind(std::string_view codes, const model::Wiring& wiring,
                                                 const Graph& graph) {
  std::string name(codes);
  for (auto maker = wiring.producer(name); maker; maker = wiring.producer(name)) {
    const Node& node = graph.nodes[*maker];
    if (auto made = dynamic_codes(node, wiring, graph)) return made->codes == name ? std::move(made) : std::nullopt;
    if (!only_moves(node) || node.inputs.empty()) break;
    name = node.inputs.front();
  }
  return std::nullopt;
}

bool reads_dynamic_codes(const Node& node, const model::Wiring& wiring, const Graph& graph) {
  if (node.op_type != "DequantizeLinear") return false;
  const auto made = dynamic_codes_behind(node.input(0), wiring, graph);
  return made && node.input(1) == made->scale && node.input(2) == made->zero_point;
}

Result<Tensor> quantize_tensor(const Tensor& values, const QuantParams& params) {
  const auto index = ChannelIndex::make(values.shape(), params);
  if (!index) return index.error();
  const std::vector<double> reals = values.to_reals();
  std::vector<std::int64_t> codes(reals.size());
  if (std::ranges::any_of(reals, [](double value) { return std::isnan(value); })) {
    return Error{core::ErrorKind::invalid_model, "a quantized constant holds NaN", {}, {}, {}};
  }
  if (core::is_real(params.type)) {
    std::vector<double> numbers(reals.size());
    index->for_each_run(reals.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
      for (std::size_t i = first; i < first + length; ++i)
        numbers[i] = core::nearest_code(reals[i] / params.scale[channel], params.type);
    });
    return Tensor(params.type, values.shape(), std::move(numbers));
  }
  index->for_each_run(reals.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    reference::quantize(std::span(reals).subspan(first, length), params.scale[channel], params.zero_point[channel],
                        params.type, std::span(codes).subspan(first, length));
  });
  return Tensor(params.type, values.shape(), std::move(codes));
}

std::optional<Tensor> dequantize_tensor(const Tensor& codes, const QuantParams& params) {
  const auto channels = ChannelIndex::make(codes.shape(), params);
  if (!channels || !core::is_code_type(codes.type())) return std::nullopt;
  std::vector<double> values(static_cast<std::size_t>(codes.size()));
  if (codes.is_real()) {
    channels->for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t c) {
      for (std::size_t i = first; i < first + length; ++i) values[i] = codes.reals()[i] * params.scale[c];
    });
    return Tensor(core::DType::float32, codes.shape(), std::move(values));
  }
  const auto integers = codes.integers();
  channels->for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t c) {
    reference::dequantize(integers.subspan(first, length), params.scale[c], params.zero_point[c],
                          std::span(values).subspan(first, length));
  });
  return Tensor(core::DType::float32, codes.shape(), std::move(values));
}

core::TensorPtr dequantized_constant(const Operand& operand) {
  if (operand.constant_codes == nullptr || !operand.params) return nullptr;
  auto values = dequantize_tensor(*operand.constant_codes, *operand.params);
  return values ? std::make_shared<const Tensor>(*std::move(values)) : nullptr;
}

core::TensorPtr constant_value(const Operand& operand) {
  return operand.constant_values != nullptr ? operand.constant_values : dequantized_constant(operand);
}

Result<ChannelIndex> ChannelIndex::make(const core::Shape& shape, const QuantParams& params) {
  ChannelIndex index;
  if (params.scale.size() == 1 && !params.axis) return index;
  const auto wrong = [](std::string message) {
    return Error{core::ErrorKind::invalid_model, std::move(message), {}, {}, {}};
  };
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = params.axis.value_or(0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) {
    return wrong(
        fmt::format("axis {} is outside a tensor of shape {}", params.axis.value_or(0), core::shape_text(shape)));
  }
  index.layout_ = {.split = reference::split_at_axis(shape, axis), .block_size = params.block};
  index.extent_ = params.scale.size();
  if (index.layout_.count() != static_cast<std::int64_t>(index.extent_)) {
    return wrong(fmt::format("{} scales for {}axis {} of shape {}, expected {}", index.extent_,
                             params.block == 0 ? "" : fmt::format("blocks of {} along ", params.block), axis,
                             core::shape_text(shape), index.layout_.count()));
  }
  return index;
}

ChannelIndex ChannelIndex::of_layout(const core::Shape& shape, const QuantParams& params) {
  ChannelIndex index;
  if (!params.axis) return index;
  index.layout_ = {.split = reference::split_at_axis(shape, *params.axis), .block_size = params.block};
  index.extent_ = static_cast<std::size_t>(index.layout_.count());
  return index;
}

}  // namespace assay::judge
