#include "harness/judge/evidence/operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::judge {
namespace {

using model::Node;

double elu_slope(const Node& node) { return std::max(1.0, std::abs(node.float_or("alpha", 1))); }
double selu_slope(const Node& node) {
  return std::abs(node.float_or("gamma", 1.0507009873554805)) *
         std::max(1.0, std::abs(node.float_or("alpha", 1.6732632423543772)));
}
double leaky_slope(const Node& node) { return std::max(1.0, std::abs(node.float_or("alpha", 0.01))); }
double hard_sigmoid_slope(const Node& node) { return std::abs(node.float_or("alpha", 0.2)); }

// One row an operator, in the order of names (capitals first). What a row leaves out is false, none or unknown.
constexpr auto kTable = std::to_array<OperatorTraits>({
    {.op = "Abs", .enclosing = Enclosing::absolute, .least = 0, .exact = true},
    {.op = "Add",
     .enclosing = Enclosing::addition,
     .formula = Formula::sum,
     .vanishes = true,
     .unchanged_since_7 = true},
    {.op = "ArgMax", .ranking = 0},
    {.op = "ArgMin", .ranking = 0},
    {.op = "Atan", .enclosing = Enclosing::bounded_function, .slope = 1},
    {.op = "AveragePool", .enclosing = Enclosing::average_pool, .averages = true},
    {.op = "BatchNormalization",
     .data_inputs = 1,
     .enclosing = Enclosing::batch_normalization,
     .normalization = Normalization::given_moments,
     .weighted = true,
     .vanishes = true},
    {.op = "Bernoulli", .leap = Leap::decides, .random = true},
    {.op = "Cast", .enclosing = Enclosing::step},
    {.op = "Ceil", .enclosing = Enclosing::step, .leap = Leap::decides},
    {.op = "Celu", .enclosing = Enclosing::exponential_unit, .slope = 1},
    {.op = "Clip",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .clamp = Clamp::to_bounds,
     .exact = true,
     .bends = true,
     .vanishes = true},
    {.op = "Compress", .data_inputs = 1, .movement = Movement::selects, .exact = true},
    {.op = "Concat",
     .enclosing = Enclosing::selection,
     .movement = Movement::joins,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "Constant", .constant = true},
    {.op = "ConstantOfShape", .constant = true},
    {.op = "Conv",
     .data_inputs = 2,
     .enclosing = Enclosing::bilinear,
     .product = Product::convolution,
     .weighted = true},
    {.op = "ConvTranspose",
     .data_inputs = 2,
     .enclosing = Enclosing::bilinear,
     .product = Product::transposed_convolution,
     .weighted = true},
    {.op = "Cos", .enclosing = Enclosing::soft_turning, .slope = 1, .least = -1, .most = 1},
    {.op = "CumSum", .data_inputs = 1, .enclosing = Enclosing::reduction},
    {.op = "DepthToSpace", .enclosing = Enclosing::selection, .movement = Movement::permutes, .exact = true},
    {.op = "Div", .enclosing = Enclosing::quotient, .formula = Formula::quotient, .unchanged_since_7 = true},
    {.op = "Dropout",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::copies,
     .exact = true,
     .vanishes = true},
    {.op = "Elu", .enclosing = Enclosing::exponential_unit, .slope_of = &elu_slope},
    {.op = "Erf", .enclosing = Enclosing::bounded_function, .slope = 1.13, .least = -1, .most = 1},
    {.op = "Exp", .enclosing = Enclosing::unbounded_function, .formula = Formula::exponential, .least = 0},
    {.op = "Expand",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::selects,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "Flatten",
     .enclosing = Enclosing::selection,
     .movement = Movement::reshapes,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "Floor", .enclosing = Enclosing::step, .leap = Leap::decides},
    {.op = "GRU", .enclosing = Enclosing::recurrent},
    {.op = "Gather", .data_inputs = 1, .enclosing = Enclosing::selection, .movement = Movement::selects, .exact = true},
    {.op = "GatherElements",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::selects,
     .exact = true},
    {.op = "GatherND",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::selects,
     .exact = true},
    {.op = "Gelu", .enclosing = Enclosing::soft_turning, .slope = 1.13},
    {.op = "Gemm", .data_inputs = 2, .enclosing = Enclosing::bilinear, .product = Product::gemm, .weighted = true},
    {.op = "GlobalAveragePool", .enclosing = Enclosing::average_pool, .averages = true},
    {.op = "GlobalMaxPool", .enclosing = Enclosing::selection, .movement = Movement::picks, .exact = true},
    {.op = "GroupNormalization",
     .data_inputs = 1,
     .enclosing = Enclosing::normalization,
     .normalization = Normalization::own_moments,
     .weighted = true},
    {.op = "HardSigmoid",
     .enclosing = Enclosing::hard_sigmoid,
     .slope_of = &hard_sigmoid_slope,
     .least = 0,
     .most = 1,
     .vanishes = true},
    {.op = "HardSwish", .enclosing = Enclosing::hard_swish, .slope = 1.5, .vanishes = true},
    {.op = "Hardmax", .leap = Leap::decides},
    {.op = "Identity",
     .enclosing = Enclosing::selection,
     .movement = Movement::copies,
     .exact = true,
     .vanishes = true},
    {.op = "InstanceNormalization",
     .data_inputs = 1,
     .enclosing = Enclosing::normalization,
     .normalization = Normalization::own_moments,
     .weighted = true},
    {.op = "LSTM", .enclosing = Enclosing::recurrent},
    {.op = "LayerNormalization",
     .data_inputs = 1,
     .enclosing = Enclosing::normalization,
     .normalization = Normalization::own_moments,
     .weighted = true},
    {.op = "LeakyRelu",
     .enclosing = Enclosing::piecewise_linear,
     .slope_of = &leaky_slope,
     .bends = true,
     .vanishes = true},
    {.op = "Log", .enclosing = Enclosing::log},
    {.op = "LogSoftmax", .enclosing = Enclosing::softmax, .slope = 2},
    {.op = "LpNormalization", .enclosing = Enclosing::norm},
    {.op = "MatMul", .data_inputs = 2, .enclosing = Enclosing::bilinear, .product = Product::matmul, .weighted = true},
    {.op = "Max", .enclosing = Enclosing::selection, .formula = Formula::maximum, .exact = true},
    {.op = "MaxPool", .enclosing = Enclosing::max_pool, .movement = Movement::picks, .exact = true},
    {.op = "Mean", .enclosing = Enclosing::addition, .formula = Formula::mean},
    {.op = "Min", .enclosing = Enclosing::selection, .formula = Formula::minimum, .exact = true},
    {.op = "Mish", .enclosing = Enclosing::soft_turning, .slope = 1.1},
    {.op = "Mod", .leap = Leap::decides},
    {.op = "Mul", .enclosing = Enclosing::product, .formula = Formula::product, .unchanged_since_7 = true},
    {.op = "Multinomial", .random = true},
    {.op = "Neg",
     .enclosing = Enclosing::negation,
     .formula = Formula::negation,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "PRelu", .enclosing = Enclosing::piecewise_linear, .weighted = true},
    {.op = "Pad", .data_inputs = 1, .enclosing = Enclosing::selection, .movement = Movement::pads, .exact = true},
    {.op = "Pow",  // an exponent is no data
     .data_inputs = 1,
     .enclosing = Enclosing::power,
     .formula = Formula::power,
     .unchanged_since_7 = true},
    {.op = "RandomNormal", .random = true},
    {.op = "RandomNormalLike", .shape_only = true, .random = true},
    {.op = "RandomUniform", .random = true},
    {.op = "RandomUniformLike", .shape_only = true, .random = true},
    {.op = "Reciprocal", .enclosing = Enclosing::quotient},
    {.op = "ReduceL1", .data_inputs = 1},
    {.op = "ReduceL2", .data_inputs = 1},
    {.op = "ReduceLogSum", .data_inputs = 1},
    {.op = "ReduceLogSumExp", .data_inputs = 1},
    {.op = "ReduceMax",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::picks,
     .exact = true},
    {.op = "ReduceMean", .data_inputs = 1, .enclosing = Enclosing::reduction, .averages = true},
    {.op = "ReduceMin",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::picks,
     .exact = true},
    {.op = "ReduceProd", .data_inputs = 1},
    {.op = "ReduceSum", .data_inputs = 1, .enclosing = Enclosing::reduction},
    {.op = "ReduceSumSquare", .data_inputs = 1},
    {.op = "Relu",
     .enclosing = Enclosing::selection,
     .clamp = Clamp::at_zero,
     .exact = true,
     .bends = true,
     .vanishes = true},
    {.op = "Reshape",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::reshapes,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "Resize", .data_inputs = 1, .enclosing = Enclosing::resize, .movement = Movement::resamples},
    {.op = "Round", .enclosing = Enclosing::step, .leap = Leap::decides},
    {.op = "Selu", .enclosing = Enclosing::bounded_function, .slope_of = &selu_slope},
    {.op = "Shape", .enclosing = Enclosing::shape, .shape_only = true},
    {.op = "Shrink", .leap = Leap::jumps},
    {.op = "Sigmoid", .enclosing = Enclosing::bounded_function, .slope = 0.25, .least = 0, .most = 1, .vanishes = true},
    {.op = "Sign", .enclosing = Enclosing::step, .leap = Leap::decides, .least = -1, .most = 1},
    {.op = "Sin", .enclosing = Enclosing::soft_turning, .slope = 1, .least = -1, .most = 1},
    {.op = "Size", .enclosing = Enclosing::shape, .shape_only = true},
    {.op = "Slice", .data_inputs = 1, .enclosing = Enclosing::selection, .movement = Movement::selects, .exact = true},
    {.op = "Softmax", .enclosing = Enclosing::softmax, .slope = 1, .least = 0, .most = 1},
    {.op = "Softplus", .enclosing = Enclosing::bounded_function, .slope = 1, .least = 0},
    {.op = "Softsign", .enclosing = Enclosing::bounded_function, .slope = 1, .least = -1, .most = 1},
    {.op = "SpaceToDepth", .enclosing = Enclosing::selection, .movement = Movement::permutes, .exact = true},
    {.op = "Split", .data_inputs = 1, .enclosing = Enclosing::selection, .movement = Movement::selects, .exact = true},
    {.op = "Sqrt", .enclosing = Enclosing::root, .least = 0, .unchanged_since_7 = true},
    {.op = "Squeeze",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::reshapes,
     .exact = true},
    {.op = "Sub", .enclosing = Enclosing::difference, .formula = Formula::difference, .unchanged_since_7 = true},
    {.op = "Sum", .enclosing = Enclosing::addition, .formula = Formula::sum},
    {.op = "Swish", .enclosing = Enclosing::soft_turning, .slope = 1.1},
    {.op = "Tanh", .enclosing = Enclosing::bounded_function, .slope = 1, .least = -1, .most = 1},
    {.op = "ThresholdedRelu", .enclosing = Enclosing::threshold, .leap = Leap::jumps, .least = 0},
    {.op = "Tile", .data_inputs = 1, .enclosing = Enclosing::selection, .movement = Movement::selects, .exact = true},
    {.op = "TopK", .data_inputs = 1, .movement = Movement::picks, .exact = true, .ranking = 1},
    {.op = "Transpose",
     .enclosing = Enclosing::selection,
     .movement = Movement::permutes,
     .exact = true,
     .unchanged_since_7 = true},
    {.op = "Trilu", .data_inputs = 1, .movement = Movement::pads, .exact = true},
    {.op = "Unsqueeze",
     .data_inputs = 1,
     .enclosing = Enclosing::selection,
     .movement = Movement::reshapes,
     .exact = true},
    {.op = "Upsample", .data_inputs = 1, .enclosing = Enclosing::resize, .movement = Movement::resamples},
    {.op = "Where", .enclosing = Enclosing::where, .exact = true},
    {.op = "com.microsoft.Gelu", .enclosing = Enclosing::soft_turning, .slope = 1.13},
    {.op = "com.microsoft.QuickGelu", .enclosing = Enclosing::soft_turning, .slope = 1.1},
});

/// Whether what a Resize or Pad makes is, by its attributes, its operand's elements and exact zeros.
bool depends_on_attributes(Movement movement) { return movement == Movement::pads || movement == Movement::resamples; }

bool moves_by_attributes(const Node& node, Movement movement) {
  if (movement == Movement::resamples) {
    // tf_crop_and_resize fills in a value of its own.
    return node.string_or("mode", "nearest") == "nearest" &&
           node.string_or("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
  }
  return node.string_or("mode", "constant") != "constant" ||
         (node.input(2).empty() && node.float_or("value", 0) == 0);  // an attribute up to version 10
}

}  // namespace

std::span<const OperatorTraits> operator_table() { return kTable; }

const OperatorTraits& traits_of(std::string_view op) {
  static constexpr OperatorTraits kUnknown{};
  const auto* found = std::ranges::lower_bound(kTable, op, {}, &OperatorTraits::op);
  return found != kTable.end() && found->op == op ? *found : kUnknown;
}

const OperatorTraits& traits_of(const Node& node) {
  return node.domain.empty() ? traits_of(std::string_view(node.op_type))  // nothing is allocated for ONNX's own
                             : traits_of(std::string_view(model::operator_name(node)));
}

std::size_t data_input_count(std::string_view op, std::size_t input_count) {
  const std::size_t data = traits_of(op).data_inputs;
  return data == 0 ? input_count : std::min(data, input_count);
}
std::size_t data_input_count(const Node& node) {
  const std::size_t data = traits_of(node).data_inputs;
  return data == 0 ? node.inputs.size() : std::min(data, node.inputs.size());
}

bool always_moves(const OperatorTraits& traits) {
  switch (traits.movement) {
    case Movement::copies:
    case Movement::reshapes:
    case Movement::permutes:
    case Movement::selects:
    case Movement::picks:
      return true;
    default:
      return false;
  }
}

bool only_moves(const Node& node) {
  const OperatorTraits& traits = traits_of(node);
  return depends_on_attributes(traits.movement) ? moves_by_attributes(node, traits.movement) : always_moves(traits);
}

bool computes_by_attributes(const Node& node) {
  return depends_on_attributes(traits_of(node).movement) && !only_moves(node);
}

bool selects_by_position(const Node& node) {
  const Movement movement = traits_of(node).movement;
  if (movement == Movement::resamples) return moves_by_attributes(node, movement);
  return movement != Movement::none && movement != Movement::picks;
}

bool holds_elements_of(const Node& node, std::size_t index) {
  const Movement movement = traits_of(node).movement;
  return movement == Movement::none || movement == Movement::pads || index < data_input_count(node);
}

bool stays_in_range(const OperatorTraits& traits) { return traits.movement != Movement::none || traits.averages; }

namespace {

bool commutes(Formula formula) {
  return formula == Formula::sum || formula == Formula::product || formula == Formula::mean ||
         formula == Formula::maximum || formula == Formula::minimum;
}

}  // namespace

bool commutes(std::string_view op) { return commutes(traits_of(op).formula); }
bool commutes(const Node& node) { return commutes(traits_of(node).formula); }

double slope_limit(const Node& node) {
  const OperatorTraits& traits = traits_of(node);
  return traits.slope_of == nullptr ? traits.slope : traits.slope_of(node);
}

bool normalizes_by_constants(const Node& node) { return traits_of(node).normalization == Normalization::given_moments; }

bool sums_products(std::string_view op) { return traits_of(op).product != Product::none; }
bool sums_products(const Node& node) { return traits_of(node).product != Product::none; }
bool is_matrix_product(Product product) { return product == Product::gemm || product == Product::matmul; }
bool is_convolution(Product product) {
  return product == Product::convolution || product == Product::transposed_convolution;
}
bool takes_bias(Product product) { return is_convolution(product) || product == Product::gemm; }

double alpha_of(const Node& node) { return traits_of(node).product == Product::gemm ? node.float_or("alpha", 1) : 1; }
double beta_of(const Node& node) { return traits_of(node).product == Product::gemm ? node.float_or("beta", 1) : 1; }
bool reads_transposed(const Node& node, std::size_t operand) {
  return traits_of(node).product == Product::gemm && node.int_or(operand == 0 ? "transA" : "transB", 0) != 0;
}

WeightLayout weight_layout(const Node& node, std::int64_t rank, std::size_t operand) {
  switch (traits_of(node).product) {
    case Product::convolution:
      return {.axis = 0};
    case Product::transposed_convolution:
      return {.axis = 1, .groups = std::max<std::int64_t>(1, node.int_or("group", 1))};
    default:
      // Rows of the operand on the left, columns of the one on the right.
      if (rank < 2) return {.axis = -1};
      return {.axis = (operand == 0) != reads_transposed(node, operand) ? rank - 2 : rank - 1};
  }
}

std::int64_t summed_axis(std::string_view op, std::int64_t channels, std::int64_t rank) {
  switch (traits_of(op).product) {
    case Product::convolution:
      return 1;
    case Product::transposed_convolution:
      return 0;
    default:
      return 2 * rank - 3 - channels;  // the last two but this one
  }
}

std::int64_t WeightLayout::channels(const core::Shape& shape) const {
  return axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)] * groups;
}

std::size_t WeightLayout::channel(const core::Shape& shape, std::size_t flat) const {
  if (axis < 0) return 0;
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const auto extent = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const std::size_t own = flat / inner % extent;
  if (groups == 1) return own;
  const auto per_group = static_cast<std::size_t>(std::max<std::int64_t>(1, shape[0] / groups));
  return flat / inner / extent / per_group * extent + own;
}

}  // namespace assay::judge
