#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"
#include "converters/embedded/engine/requantize.hpp"
#include "harness/core/quant_params.hpp"

namespace assay::embedded::engine {

/// One input of a node that may run on integers.
struct Operand {
  enum class Kind {
    absent,  ///< left out
    codes,   ///< comes from DequantizeLinear; the kernel gets the codes
    plain,   ///< anything else (shapes, axes, limits); the kernel gets it as it is
  };
  Kind kind = Kind::absent;
  core::QuantParams params;          ///< of codes
  const Buffer* constant = nullptr;  ///< the codes or the plain value, where known before the first run

  [[nodiscard]] bool is_codes() const { return kind == Kind::codes; }
  /// Codes of a byte each under one scale: what activations are.
  [[nodiscard]] bool is_per_tensor() const;
  [[nodiscard]] double scale() const { return params.scale.front(); }
  [[nodiscard]] std::int64_t zero_point() const { return params.zero_point.front(); }
};

/// A node between DequantizeLinear and QuantizeLinear, before the first run.
struct IntegerBinding {
  const Node& node;
  std::int64_t opset = 13;
  std::span<const Operand> operands;
  std::span<const OutputCodes> outputs;  ///< type float32 where the sum is left in float (sums_products only)
  const ArithmeticPolicy& policy;

  [[nodiscard]] const Operand& operand(std::size_t index) const;
  [[nodiscard]] bool has(std::size_t index) const { return operand(index).kind != Operand::Kind::absent; }
};

/// Calls work(pointer) with the elements of a result: bytes where they are codes, float where it is left in float.
template <typename Work>
void with_result(Buffer& result, Work&& work) {
  if (result.type() == DType::float32) {
    work(result.data<float>());
  } else {
    work(result.data<std::uint8_t>());
  }
}

/// Makes the integer form; an empty kernel where the node has none with these operands (it then runs in float).
using IntegerMaker = Result<Kernel> (*)(const IntegerBinding&);
/// Operators that sum products of codes: their int32 sums are exact whatever becomes of them, so that these nodes run
/// on codes also where the result is left in float.
[[nodiscard]] bool sums_products(std::string_view op);
using IntegerMakerTable = std::map<std::string_view, IntegerMaker>;
[[nodiscard]] const IntegerMakerTable& integer_makers();

void add_integer_convolution_makers(IntegerMakerTable& table);
void add_integer_elementwise_makers(IntegerMakerTable& table);
void add_integer_layout_makers(IntegerMakerTable& table);
void add_integer_matmul_makers(IntegerMakerTable& table);
void add_integer_pooling_makers(IntegerMakerTable& table);
void add_integer_table_makers(IntegerMakerTable& table);

/// The limits of a Clip: inputs since opset 11, attributes before. Nothing where one is not a constant scalar.
struct ClipLimits {
  std::optional<double> low, high;
};
[[nodiscard]] std::optional<ClipLimits> clip_limits(const Node& clip, std::span<const Buffer* const> constants);

/// The zero_point that a kernel takes off the operand's codes.
[[nodiscard]] std::int16_t subtracted_zero_point(const Operand& operand, const ArithmeticPolicy& policy);

/// A weight's scale and zero_point for each of `count` channels along `axis`; nothing where its parameters lie along
/// another axis or have another length.
struct ChannelParams {
  std::vector<double> scale;
  std::vector<std::int16_t> zero_point;
};
[[nodiscard]] std::optional<ChannelParams> channel_params(const Operand& weight, std::int64_t axis, std::int64_t rank,
                                                          std::int64_t count, const ArithmeticPolicy& policy);

/// A constant bias of `channels` values against accumulators in units of `in_scales`: int32 codes where it is given so
/// at that scale, real addends otherwise. Nothing where it is not constant or has another length.
struct ChannelBias {
  std::vector<std::int32_t> codes;
  std::vector<double> addends;
};
[[nodiscard]] std::optional<ChannelBias> channel_bias(const Operand& bias, std::span<const double> in_scales,
                                                      std::int64_t channels, double factor = 1);

/// What the sums of one layer can reach, whatever codes come in: weights are told channel by channel, zero_point taken
/// off. Sums are exact modulo 2^32, so that only their ends matter.
class AccumulatorBounds {
 public:
  explicit AccumulatorBounds(std::size_t channels) : positive_(channels, 0), negative_(channels, 0) {}
  void add(std::size_t channel, std::int64_t weight) {
    (weight > 0 ? positive_ : negative_)[channel] += weight > 0 ? weight : -weight;
  }
  /// Whether every sum over codes of `type`, `zero_point` taken off, fits 32 bits with its bias (none, or one per
  /// channel).
  [[nodiscard]] bool fit(DType type, std::int64_t zero_point, std::span<const std::int32_t> biases) const;

 private:
  std::vector<std::int64_t> positive_, negative_;  // sums of the weights of either sign, as magnitudes
};

}  // namespace assay::embedded::engine
