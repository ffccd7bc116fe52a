// Weights in blocks: what converters and engines get wrong of their scales, zero points and packing.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

constexpr std::int64_t kHardcodedBlock = 128;
constexpr std::int64_t kTooLong = 512;
constexpr double kGarbage = 3;

/// Every weight that is in blocks.
Status for_blocks(State& state, const std::function<void(std::size_t, Coded&)>& change) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    auto& weight = state.codes[i].weight;
    if (weight && weight->params.block != 0) change(i, *weight);
  }
  return core::success();
}

/// What an engine makes of constant codes: `change` gets them with their parameters and gives their values.
using Reading = std::function<std::vector<double>(const Tensor& codes, const QuantParams& params)>;
void read_constants(model::Model& artifact, const std::function<bool(const QuantParams&)>& concerns,
                    const Reading& reading) {
  auto& graph = artifact.graph;
  std::erase_if(graph.nodes, [&](const Node& node) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    const auto params = codes == nullptr ? std::nullopt : declared_params(graph, node);
    if (!params || !concerns(*params)) return false;
    graph.initializers[node.outputs[0]] =
        std::make_shared<const Tensor>(DType::float32, codes->shape(), reading(*codes, *params));
    return true;
  });
}

bool is_in_blocks(const QuantParams& params) { return params.block != 0; }
bool is_in_half_bytes(const QuantParams& params) { return core::element_size_bits(params.type) == 4; }
bool is_in_integer_half_bytes(const QuantParams& params) {
  return is_in_half_bytes(params) && !core::is_real(params.type);
}
bool is_scaled_by_codes(const QuantParams& params) { return params.scale_type != DType::float32; }

std::vector<double> values_with(const Tensor& codes, const QuantParams& params, std::vector<double> changed) {
  return values_of(coded(std::move(changed), codes), params).to_reals();
}

}  // namespace

Status centre_block_zero_points(State& state) {
  return for_blocks(state, [](std::size_t, Coded& weight) {
    std::ranges::fill(weight.params.zero_point, centre_of(weight.params.type));
  });
}

Status transpose_block_scales(State& state) {
  return for_blocks(state, [&](std::size_t index, Coded& weight) {
    const core::Shape shape =
        ScaleIndex(weight_of(state, index).shape(), weight.params.axis, weight.params.block).shape();
    const QuantParams right = weight.params;
    const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
    for (std::size_t i = 0; i < rows * columns; ++i) {
      weight.params.scale[i] = right.scale[i % rows * columns + i / rows];
      weight.params.zero_point[i] = right.zero_point[i % rows * columns + i / rows];
    }
  });
}

Status take_garbage_into_last_block(State& state) {
  return for_blocks(state, [&](std::size_t index, Coded& weight) {
    const core::Shape& shape = weight_of(state, index).shape();
    const auto axis = static_cast<std::size_t>(*weight.params.axis);
    if (shape[axis] % weight.params.block == 0) return;
    const ScaleIndex scales(shape, weight.params.axis, weight.params.block);
    const auto columns = static_cast<std::size_t>(scales.shape()[1]),
               blocks = static_cast<std::size_t>(scales.shape()[axis]);
    for (std::size_t i = 0; i < scales.count(); ++i) {
      const std::size_t block = axis == 0 ? i / columns : i % columns;
      if (block + 1 == blocks) weight.params.scale[i] = to_float32(weight.params.scale[i] * kGarbage);
    }
  });
}

Status hardcode_block(State& state) {
  for (auto& plan : state.plan.nodes) {
    if (plan.block != 0) plan.block = kHardcodedBlock;
  }
  return core::success();
}

Status negate_block_codes(State& state) {
  return for_blocks(state, [](std::size_t, Coded& weight) {
    const auto limits = core::integer_limits(weight.params.type);
    const auto centre = static_cast<double>(centre_of(weight.params.type));
    auto codes = weight.codes.to_reals();
    for (double& code : codes)
      code = std::clamp(2 * centre - code, static_cast<double>(limits.low), static_cast<double>(limits.high));
    weight.codes = coded(std::move(codes), weight.codes);
  });
}

void interleave_blocks(model::Model& artifact) {
  read_constants(artifact, &is_in_blocks, [](const Tensor& codes, const QuantParams& params) {
    const core::Shape& shape = codes.shape();
    const ScaleIndex scales(shape, params.axis, params.block);
    const auto axis = static_cast<std::size_t>(*params.axis);
    const auto blocks = static_cast<std::size_t>(scales.shape()[axis]);
    const auto columns = static_cast<std::size_t>(shape[1]),
               scale_columns = static_cast<std::size_t>(scales.shape()[1]);
    std::vector<double> values = codes.to_reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::array<std::size_t, 2> at = {i / columns, i % columns};
      at[axis] %= blocks;  // neighbours take the scales of all blocks in turn
      const std::size_t own = at[0] * scale_columns + at[1];
      values[i] = to_float32((values[i] - static_cast<double>(params.zero_point[own])) * params.scale[own]);
    }
    return values;
  });
}

void swap_half_bytes(model::Model& artifact) {
  read_constants(artifact, &is_in_half_bytes, [](const Tensor& codes, const QuantParams& params) {
    std::vector<double> swapped = codes.to_reals();
    for (std::size_t i = 0; i + 1 < swapped.size(); i += 2) std::swap(swapped[i], swapped[i + 1]);
    return values_with(codes, params, std::move(swapped));
  });
}

/// Two negative codes in a byte: the lower one's sign is taken from the upper.
void borrow_from_half_bytes(model::Model& artifact) {
  read_constants(artifact, &is_in_integer_half_bytes, [](const Tensor& codes, const QuantParams& params) {
    std::vector<double> read = codes.to_reals();
    const auto centre = static_cast<double>(centre_of(params.type));
    for (std::size_t i = 0; i + 1 < read.size(); i += 2) {
      if (read[i] < centre) --read[i + 1];
    }
    return values_with(codes, params, std::move(read));
  });
}

void lose_sign_of_half_bytes(model::Model& artifact) {
  read_constants(artifact, &is_in_half_bytes, [](const Tensor& codes, const QuantParams& params) {
    std::vector<double> read = codes.to_reals();
    const bool has_sign = core::integer_limits(params.type).low < 0;
    for (double& code : read)
      code = codes.is_real()          ? std::fabs(code)
             : has_sign && code < 0   ? code + 16
             : !has_sign && code >= 8 ? code - 16
                                      : code;
    return values_with(codes, params, std::move(read));
  });
}

void zero_long_blocks(model::Model& artifact) {
  read_constants(
      artifact, [](const QuantParams& params) { return params.block >= kTooLong; },
      [](const Tensor& codes, const QuantParams&) {
        return std::vector<double>(static_cast<std::size_t>(codes.size()), 0);
      });
}

Status encode_by_unrounded_scales(State& state) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    auto& weight = state.codes[i].weight;
    if (!weight || !is_scaled_by_codes(weight->params)) continue;
    const Tensor& values = weight_of(state, i);
    const QuantParams& params = weight->params;
    weight->codes = codes_of(values, stored_weight_params(values, params.axis, params.block, params.type, true));
  }
  return core::success();
}

Status take_powers_of_quotients(State& state) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    auto& weight = state.codes[i].weight;
    if (!weight || weight->params.scale_type != DType::float8e8m0) continue;
    const QuantParams& params = weight->params;
    const QuantParams exact = stored_weight_params(weight_of(state, i), params.axis, params.block, params.type, true);
    std::ranges::transform(exact.scale, weight->params.scale.begin(),
                           [](double scale) { return std::exp2(std::floor(std::log2(scale))); });
  }
  return core::success();
}

void lose_step_of_scales(model::Model& artifact) {
  auto& graph = artifact.graph;
  for (auto& node : graph.nodes) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    const auto* scale = graph.initializer(node.input(1));
    if (codes == nullptr || scale == nullptr || node.inputs.size() > 2)
      continue;  // what made the codes has a zero point
    node.inputs[1] = put(graph, node.inputs[1], Tensor::scalar(DType::float32, 1));
  }
}

void read_powers_by_another_bias(model::Model& artifact) {
  auto& graph = artifact.graph;
  for (auto& node : graph.nodes) {
    const auto* scale = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(1)) : nullptr;
    if (scale == nullptr || scale->type() != DType::float8e8m0) continue;
    auto powers = scale->to_reals();
    for (double& power : powers) power *= 4;
    node.inputs[1] = put(graph, node.inputs[1], coded(std::move(powers), *scale));
  }
}

}  // namespace assay::embedded::edits
