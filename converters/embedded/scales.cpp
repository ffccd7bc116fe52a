#include "converters/embedded/scales.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "harness/core/float_format.hpp"

namespace assay::embedded {
namespace {

/// Elements after `axis`, so that index / inner % extent is the position along it.
std::size_t inner_extent(const core::Shape& shape, std::int64_t axis) {
  std::size_t inner = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  return inner;
}

}  // namespace

QuantParams activation_params(const Range& range, DType type, bool symmetric) {
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const auto limits = core::integer_limits(type);
  symmetric = symmetric || core::is_real(type);
  QuantParams params;
  params.type = type;
  const double wanted = symmetric ? std::max(-low, high) / static_cast<double>(limits.high - centre_of(type))
                                  : (high - low) / static_cast<double>(limits.high - limits.low);
  auto scale = static_cast<double>(static_cast<float>(wanted));
  if (!(wanted >= static_cast<double>(std::numeric_limits<float>::min()))) scale = 1;
  if (!std::isfinite(scale)) scale = static_cast<double>(std::numeric_limits<float>::max());
  params.scale = {scale};
  if (symmetric) {
    params.zero_point = {centre_of(type)};
  } else {
    const double zero = std::nearbyint(static_cast<double>(limits.low) - low / scale);
    params.zero_point = {
        static_cast<std::int64_t>(std::clamp(zero, static_cast<double>(limits.low), static_cast<double>(limits.high)))};
  }
  return params;
}

std::int64_t centre_of(DType type) {
  const auto limits = core::integer_limits(type);
  return limits.low == 0 ? (limits.high + 1) / 2 : 0;
}

double largest_code_distance(const QuantParams& params) {
  const auto limits = core::integer_limits(params.type);
  const auto zero = params.zero_point.empty() ? 0 : params.zero_point.front();
  return static_cast<double>(std::max(limits.high - zero, zero - limits.low));
}

ScaleIndex::ScaleIndex(const core::Shape& shape, std::optional<std::int64_t> axis, std::int64_t block) {
  if (!axis) return;
  per_axis_ = true;
  in_blocks_ = block > 0;
  const auto along = static_cast<std::size_t>(*axis);
  inner_ = inner_extent(shape, *axis);
  extent_ = static_cast<std::size_t>(shape[along]);
  shape_ = {shape[along]};
  if (in_blocks_) {
    block_ = std::max(static_cast<std::size_t>(block), std::size_t{1});
    blocks_ = (extent_ + block_ - 1) / block_;
    inner_of_scales_ = inner_;
    shape_ = shape;
    shape_[along] = static_cast<std::int64_t>(blocks_);
  }
  count_ = static_cast<std::size_t>(core::element_count(shape_));
}

std::vector<double> magnitudes_along(const Tensor& tensor, std::optional<std::int64_t> axis) {
  const ScaleIndex scales(tensor.shape(), axis, 0);
  std::vector<double> largest(scales.count(), 0.0);
  const auto values = tensor.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& entry = largest[scales.of(i)];
    entry = std::max(entry, std::fabs(values[i]));
  }
  return largest;
}

namespace {

/// The highest power of two that symmetric codes of `type` reach.
double highest_power(DType type) {
  return std::exp2(std::floor(std::log2(static_cast<double>(core::integer_limits(type).high - centre_of(type)))));
}

void round_scales(QuantParams& params, const std::vector<Range>& ranges, DType scale_type) {
  params.scale_type = scale_type;
  if (scale_type == DType::float8e8m0) {
    params.scale_step = {1};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const double magnitude = std::max(-ranges[i].low, ranges[i].high);
      const double power = magnitude > 0 ? std::exp2(std::floor(std::log2(magnitude))) / highest_power(params.type) : 1;
      params.scale[i] = core::round_to_type(power, scale_type);
    }
  } else if (scale_type != DType::float32) {
    const auto last = static_cast<double>(core::integer_limits(scale_type).high);
    const double step = to_float32(std::ranges::max(params.scale) / last);
    params.scale_step = {step};
    const double least = 2 * core::half_gap(0, scale_type);
    for (double& scale : params.scale)
      scale = to_float32(std::max(core::nearest_code(to_float32(scale / step), scale_type), least) * step);
  }
}

}  // namespace

QuantParams stored_weight_params(const Tensor& weight, std::optional<std::int64_t> axis, std::int64_t block, DType type,
                                 bool symmetric, DType scale_type) {
  const ScaleIndex scales(weight.shape(), axis, block);
  std::vector<Range> ranges(scales.count());
  const auto values = weight.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    Range& range = ranges[scales.of(i)];
    range = {std::min(range.low, values[i]), std::max(range.high, values[i])};
  }
  QuantParams params;
  params.type = type;
  params.axis = axis;
  params.block = axis ? block : 0;
  for (const Range& range : ranges) {
    const QuantParams one = activation_params(range, type, symmetric);
    params.scale.push_back(one.scale.front());
    params.zero_point.push_back(one.zero_point.front());
  }
  round_scales(params, ranges, scale_type);
  return params;
}

std::int64_t code_of(double value, double scale, std::int64_t zero_point, DType type) {
  const auto limits = core::integer_limits(type);
  const double code = std::nearbyint(value / scale) + static_cast<double>(zero_point);
  return static_cast<std::int64_t>(std::clamp(code, static_cast<double>(limits.low), static_cast<double>(limits.high)));
}

double code_towards_zero(double steps, DType type) {
  const double nearest = core::nearest_code(core::is_real(type) ? steps : std::trunc(steps), type);
  if (std::fabs(nearest) <= std::fabs(steps)) return nearest;
  return core::nearest_code(nearest - std::copysign(2 * core::half_gap(steps, type), steps), type);
}

Tensor coded(std::vector<double> numbers, const Tensor& like) {
  if (like.is_real()) return {like.type(), like.shape(), std::move(numbers)};
  return {like.type(), like.shape(), std::vector<std::int64_t>(numbers.begin(), numbers.end())};
}

std::optional<QuantParams> declared_params(const model::Graph& graph, const model::Node& node) {
  std::optional<Tensor> made;  // scales that are codes themselves
  const auto* scale = graph.initializer(node.input(1));
  const auto* zero = graph.initializer(node.input(2));
  const auto maker = scale != nullptr ? graph.nodes.end() : std::ranges::find_if(graph.nodes, [&](const auto& each) {
    return each.op_type == "DequantizeLinear" && each.outputs[0] == node.input(1);
  });
  if (maker != graph.nodes.end()) {
    const auto* codes = graph.initializer(maker->input(0));
    const auto params = codes == nullptr ? std::nullopt : declared_params(graph, *maker);
    if (params) scale = &made.emplace(values_of(*codes, *params));
  }
  if (scale == nullptr || (zero == nullptr && !node.input(2).empty())) return std::nullopt;
  QuantParams params;
  params.scale = scale->to_reals();
  params.zero_point = zero == nullptr ? std::vector<std::int64_t>(params.scale.size(), 0) : zero->to_integers();
  const auto* codes = graph.initializer(node.input(0));
  const bool typed_codes = node.op_type == "DequantizeLinear" && codes != nullptr;
  params.type = zero != nullptr ? zero->type() : (typed_codes ? codes->type() : DType::uint8);
  if (scale->rank() > 0 && params.scale.size() > 1) params.axis = node.int_or("axis", 1);
  if (params.axis && *params.axis < 0 && codes != nullptr) *params.axis += codes->rank();
  if (params.axis) params.block = node.int_or("block_size", 0);
  return params;
}

Tensor codes_of(const Tensor& values, const QuantParams& params) {
  const ScaleIndex scales(values.shape(), params.axis, params.block);
  const auto reals = values.reals();
  if (core::is_real(params.type)) {
    std::vector<double> codes(reals.size());
    for (std::size_t i = 0; i < reals.size(); ++i)
      codes[i] = core::nearest_code(to_float32(reals[i] / params.scale[scales.of(i)]), params.type);
    return Tensor(params.type, values.shape(), std::move(codes));
  }
  std::vector<std::int64_t> codes(reals.size());
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::size_t own = scales.of(i);
    codes[i] = code_of(reals[i], params.scale[own], params.zero_point[own], params.type);
  }
  return Tensor(params.type, values.shape(), std::move(codes));
}

Tensor values_of(const Tensor& codes, const QuantParams& params) {
  const ScaleIndex scales(codes.shape(), params.axis, params.block);
  const auto numbers = codes.to_reals();
  std::vector<double> values(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t own = scales.of(i);
    values[i] = to_float32((numbers[i] - static_cast<double>(params.zero_point[own])) * params.scale[own]);
  }
  return Tensor(DType::float32, codes.shape(), std::move(values));
}

model::Model with_plain_weights(model::Model artifact) {
  auto& graph = artifact.graph;
  std::set<std::string, std::less<>> widened;
  std::erase_if(graph.nodes, [&](const model::Node& node) {
    const auto* codes = node.op_type == "DequantizeLinear" ? graph.initializer(node.input(0)) : nullptr;
    const auto params = codes == nullptr ? std::nullopt : declared_params(graph, node);
    if (!params) return false;
    if (params->block == 0 && graph.initializer(node.input(1)) != nullptr) {
      if (core::element_size_bits(params->type) >= 8) return false;
      widened.insert(node.inputs[0]);
      if (!node.input(2).empty()) widened.insert(node.inputs[2]);
      return false;
    }
    graph.initializers[node.outputs[0]] = std::make_shared<const Tensor>(values_of(*codes, *params));
    return true;
  });
  for (const auto& name : widened) {
    Tensor codes = *graph.initializer(name);  // codes of fewer bits are codes of 8 bits too
    const DType type = codes.is_real()                              ? DType::float8e4m3fn
                       : core::integer_limits(codes.type()).low < 0 ? DType::int8
                                                                    : DType::uint8;
    graph.initializers[name] = std::make_shared<const Tensor>(std::move(codes).relabeled(type));
  }
  return artifact;
}

}  // namespace assay::embedded
