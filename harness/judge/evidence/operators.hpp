#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Which sum of products an operator is. The kind says where its weight has its output channels (weight_layout).
enum class Product { none, convolution, transposed_convolution, gemm, matmul };

/// How the elements of the result come from the operands, for operators whose result holds nothing but these.
enum class Movement {
  none,
  copies,     ///< the operand itself
  reshapes,   ///< the same elements in the same order
  permutes,   ///< the same elements in another order
  selects,    ///< elements by their position, each any number of times
  picks,      ///< elements by their value, as a maximum
  joins,      ///< the elements of all operands
  pads,       ///< the operand's elements and a constant, zero where none is given
  resamples,  ///< elements by their position in mode nearest; in others means of several
};

/// Arithmetic of one element, or of one from each operand.
enum class Formula {
  none,
  sum,
  difference,
  mean,
  product,
  quotient,
  power,
  exponential,
  negation,
  maximum,
  minimum,
};

/// A function that leaves values inside an interval as they are: what the ends of quantized values can do as well.
enum class Clamp { none, at_zero, to_bounds };

enum class Normalization {
  none,
  given_moments,  ///< by constants: an affine function of its input
  own_moments,    ///< by the mean and the variance of its input
};

/// What one step of rounding may do to a result, whatever the step's size.
enum class Leap {
  none,
  decides,  ///< every element is one of few values
  jumps,    ///< continuous but for a threshold
};

/// The rule by which an enclosure of the operands becomes one of the result (enclosures/; each is derived there). A new
/// function of one operand mostly is one of the five that say "function".
enum class Enclosing {
  unknown,              ///< no rule: what follows is not bounded
  absolute,             ///< |x|
  addition,             ///< sums and means of several operands
  average_pool,         ///< means over windows
  batch_normalization,  ///< by constants
  bilinear,             ///< sums of products of two operands
  bounded_function,     ///< a function that never falls, computed on values up to 1: Tanh, Softsign
  difference,           ///< of two operands
  exponential_unit,     ///< alpha·(e^x − 1) below zero: Elu, Celu
  hard_sigmoid,
  hard_swish,
  log,
  max_pool,
  negation,
  norm,              ///< divided by the norm along an axis
  normalization,     ///< by the operand's own mean and variance
  piecewise_linear,  ///< another slope below zero, which may be negative
  power,             ///< one operand to the power of another
  product,           ///< of two operands
  quotient,          ///< of two operands
  recurrent,         ///< LSTM and GRU: gates, step by step
  reduction,         ///< sums and means along axes
  resize,            ///< elements, or means of neighbours
  root,
  selection,     ///< each element is one of an operand: moves, maxima, clamps
  shape,         ///< no value is read
  soft_turning,  ///< a function that falls and rises by no more than `slope`, such as Gelu and Cos
  softmax,
  step,                ///< a function of few values: Floor, Round
  threshold,           ///< 0 up to a threshold, x beyond it
  unbounded_function,  ///< a function that never falls and grows without bound: Exp
  where,               ///< one operand or another, by a condition
};

/// What the judge knows of one operator. Every walk takes it from here; nothing else lists operators.
struct OperatorTraits {
  std::string_view op;  ///< model::operator_name
  /// The first so many inputs are data, the rest shapes, axes, indices, statistics or a bias. 0: all are data.
  std::size_t data_inputs = 0;
  Enclosing enclosing = Enclosing::unknown;
  Product product = Product::none;
  Movement movement = Movement::none;
  Formula formula = Formula::none;
  Clamp clamp = Clamp::none;
  Normalization normalization = Normalization::none;
  Leap leap = Leap::none;
  /// |f(a) − f(b)| <= slope·|a − b| element by element; 0 where no such number is known.
  double slope = 0;
  double (*slope_of)(const model::Node&) = nullptr;  ///< in place of `slope`, where it depends on attributes
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();  ///< no value lies outside, whatever the input
  bool exact = false;                                     ///< float32 rounds nothing, and no error of an operand grows
  bool averages = false;                                  ///< every element is a mean of elements of the operand
  bool bends = false;                                     ///< of one operand: straight but for a corner or two
  bool weighted = false;                                  ///< input 1 is a constant that training found
  bool vanishes = false;                                  ///< converters make it a part of the operator before it
  bool shape_only = false;                                ///< it reads its operand's shape and no value
  bool constant = false;                                  ///< its result is a constant of the model
  bool random = false;                                    ///< two runs give two results
  /// The output that says where along an axis the largest or least elements lie.
  std::optional<std::size_t> ranking = std::nullopt;
  /// ONNX says the same of it in every version from 7 on.
  bool unchanged_since_7 = false;
};

/// The table, sorted by name.
[[nodiscard]] std::span<const OperatorTraits> operator_table();

/// The row of the operator that has this model::operator_name; a row without any property for one that the table lacks.
[[nodiscard]] const OperatorTraits& traits_of(std::string_view op);
[[nodiscard]] const OperatorTraits& traits_of(const model::Node& node);

/// Which inputs of an operator carry data (not a shape, axes, indices or a bias), counted from the first; every one
/// where the operator has no other kind. `input_count` is what the node has.
[[nodiscard]] std::size_t data_input_count(std::string_view op, std::size_t input_count);
[[nodiscard]] std::size_t data_input_count(const model::Node& node);

/// Whether every element of the result is one of the operand's, or an exact zero: quantized values pass through as they
/// are. False where that depends on more than the attributes (the constant of a Pad). Concat joins and does not move.
[[nodiscard]] bool only_moves(const model::Node& node);
/// A Pad that adds a value, a Resize that mixes several: others of its operator only move.
[[nodiscard]] bool computes_by_attributes(const model::Node& node);
/// As above, of all nodes of an operator: false where some compute (Pad, Resize).
[[nodiscard]] bool always_moves(const OperatorTraits& traits);
/// Whether every element of the result is an element of an operand, or a constant, and which one is settled by
/// positions alone.
[[nodiscard]] bool selects_by_position(const model::Node& node);
/// Whether elements of input `index` may stand in the result: those of a Pad's constant may, the scales of a Resize
/// don't. True of what doesn't move.
[[nodiscard]] bool holds_elements_of(const model::Node& node, std::size_t index);
/// Whether the result may keep its operand's scale and zero_point, since it can't leave its operand's range: moves,
/// joins, pads, resamples, averages.
[[nodiscard]] bool stays_in_range(const OperatorTraits& traits);
/// Whether the operands may change places.
[[nodiscard]] bool commutes(std::string_view op);
[[nodiscard]] bool commutes(const model::Node& node);
/// The bound of `node`'s slope, by its attributes where that depends on them; 0 where none is known.
[[nodiscard]] double slope_limit(const model::Node& node);

/// A BatchNormalization of inference: an affine function of its input, by constants.
[[nodiscard]] bool normalizes_by_constants(const model::Node& node);

/// Operators that sum products of two tensors: in 32-bit accumulators where both are codes.
[[nodiscard]] bool sums_products(std::string_view op);
[[nodiscard]] bool sums_products(const model::Node& node);
/// Products of two matrices, which may be a batch of them.
[[nodiscard]] bool is_matrix_product(Product product);
[[nodiscard]] bool is_convolution(Product product);
/// Whether input kBias of the product is a bias.
[[nodiscard]] bool takes_bias(Product product);

/// Where Conv, ConvTranspose and Gemm take their bias.
inline constexpr std::size_t kBias = 2;

/// The factors of Gemm, and of its form on quantized values; 1 for every other operator.
[[nodiscard]] double alpha_of(const model::Node& node);
[[nodiscard]] double beta_of(const model::Node& node);
/// Whether a Gemm reads operand `operand` transposed; false for every other operator.
[[nodiscard]] bool reads_transposed(const model::Node& node, std::size_t operand);

/// Where a product's weight has its output channels: along `axis`, and once more for each group of a ConvTranspose.
struct WeightLayout {
  std::int64_t axis = 0;    ///< -1 where there is none: a vector is summed over
  std::int64_t groups = 1;  ///< which share the indices along `axis`
  [[nodiscard]] std::int64_t channels(const core::Shape& shape) const;
  /// Output channel of element `flat` of a weight of this shape.
  [[nodiscard]] std::size_t channel(const core::Shape& shape, std::size_t flat) const;
};
/// `operand` is the input that the weight of `rank` axes is; only a matrix product's may be 0.
[[nodiscard]] WeightLayout weight_layout(const model::Node& node, std::int64_t rank, std::size_t operand = 1);
/// The axis of the weight that a product adds up along, where its channels lie along `channels`.
[[nodiscard]] std::int64_t summed_axis(std::string_view op, std::int64_t channels, std::int64_t rank);

}  // namespace assay::judge
