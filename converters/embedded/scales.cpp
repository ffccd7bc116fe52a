#include "converters/embedded/scales.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::embedded {
namespace {

constexpr double kSymmetricDivisor = 127;
constexpr std::int64_t kUint8Middle = 128;

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
  QuantParams params;
  params.type = type;
  const double wanted = symmetric ? std::max(-low, high) / kSymmetricDivisor
                                  : (high - low) / static_cast<double>(limits.high - limits.low);
  auto scale = static_cast<double>(static_cast<float>(wanted));
  if (!(wanted >= static_cast<double>(std::numeric_limits<float>::min()))) scale = 1;
  if (!std::isfinite(scale)) scale = static_cast<double>(std::numeric_limits<float>::max());
  params.scale = {scale};
  if (symmetric) {
    params.zero_point = {type == DType::uint8 ? kUint8Middle : 0};
  } else {
    const double zero = std::nearbyint(static_cast<double>(limits.low) - low / scale);
    params.zero_point = {
        static_cast<std::int64_t>(std::clamp(zero, static_cast<double>(limits.low), static_cast<double>(limits.high)))};
  }
  return params;
}

double largest_code_distance(const QuantParams& params) {
  const auto limits = core::integer_limits(params.type);
  const auto zero = params.zero_point.empty() ? 0 : params.zero_point.front();
  return static_cast<double>(std::max(limits.high - zero, zero - limits.low));
}

std::vector<double> magnitudes_along(const Tensor& tensor, std::optional<std::int64_t> axis) {
  const std::size_t inner = axis ? inner_extent(tensor.shape(), *axis) : 1;
  const std::size_t extent = axis ? static_cast<std::size_t>(tensor.shape()[static_cast<std::size_t>(*axis)]) : 1;
  std::vector<double> largest(extent, 0.0);
  const auto values = tensor.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& entry = largest[i / inner % extent];
    entry = std::max(entry, std::fabs(values[i]));
  }
  return largest;
}

std::int64_t code_of(double value, double scale, std::int64_t zero_point, DType type) {
  const auto limits = core::integer_limits(type);
  const double code = std::nearbyint(value / scale) + static_cast<double>(zero_point);
  return static_cast<std::int64_t>(std::clamp(code, static_cast<double>(limits.low), static_cast<double>(limits.high)));
}

std::optional<QuantParams> declared_params(const model::Graph& graph, const model::Node& node) {
  const auto* scale = graph.initializer(node.input(1));
  const auto* zero = graph.initializer(node.input(2));
  if (scale == nullptr || (zero == nullptr && !node.input(2).empty())) return std::nullopt;
  QuantParams params;
  params.scale = scale->to_reals();
  params.zero_point = zero == nullptr ? std::vector<std::int64_t>(params.scale.size(), 0) : zero->to_integers();
  const auto* codes = graph.initializer(node.input(0));
  const bool typed_codes = node.op_type == "DequantizeLinear" && codes != nullptr;
  params.type = zero != nullptr ? zero->type() : (typed_codes ? codes->type() : DType::uint8);
  if (scale->rank() > 0 && params.scale.size() > 1) params.axis = node.int_or("axis", 1);
  if (params.axis && *params.axis < 0 && codes != nullptr) *params.axis += codes->rank();
  return params;
}

Tensor codes_of(const Tensor& values, const QuantParams& params) {
  const std::size_t inner = params.axis ? inner_extent(values.shape(), *params.axis) : 1;
  const std::size_t extent = params.scale.size();
  const auto reals = values.reals();
  std::vector<std::int64_t> codes(reals.size());
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::size_t channel = i / inner % extent;
    codes[i] = code_of(reals[i], params.scale[channel], params.zero_point[channel], params.type);
  }
  return Tensor(params.type, values.shape(), std::move(codes));
}

}  // namespace assay::embedded
