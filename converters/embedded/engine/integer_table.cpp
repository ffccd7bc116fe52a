// Functions of one code: a table of 256 outputs, computed once in float64. Also Softmax, whose exponentials are one.
#include "converters/embedded/engine/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

constexpr std::size_t kCodes = 256;
/// Constants with more elements than this would cost more as tables than as floats.
constexpr std::int64_t kMostTables = 4096;

/// Appends the codes of function(value) for the value of every byte.
void append_table(const Operand& x, const OutputCodes& out, const ArithmeticPolicy& policy,
                  const RealFunction& function, std::vector<std::uint8_t>& table) {
  const std::int64_t zero_point = subtracted_zero_point(x, policy);
  for (std::size_t i = 0; i < kCodes; ++i) {
    const std::int64_t code = code_value(static_cast<std::uint8_t>(i), x.params.type);
    const double value = static_cast<double>(code - zero_point) * x.scale();
    table.push_back(finish_code(function(value) / out.scale, out, policy));
  }
}

Result<Kernel> make_unary(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  const RealFunction function = unary_function(binding.node);
  if (!x.is_per_tensor() || !function) return Kernel();
  std::vector<std::uint8_t> table;
  append_table(x, binding.outputs[0], binding.policy, function, table);
  return Kernel([table, type = binding.outputs[0].type](const Call& call) -> Status {
    const Buffer& codes = call.input(0);
    call.outputs[0] = Buffer(type, codes.shape());
    auto* out = call.outputs[0].data<std::uint8_t>();
    for (const std::uint8_t byte : codes.span<std::uint8_t>()) *out++ = table[byte];
    return core::success();
  });
}

/// The values of a constant operand, dequantized where it is given by codes. Nothing where they are not known.
std::optional<std::vector<double>> constant_values(const Operand& operand) {
  if (operand.constant == nullptr || operand.constant->size() > kMostTables) return std::nullopt;
  std::vector<double> values;
  if (operand.is_codes()) {
    if (operand.params.scale.size() != 1) return std::nullopt;
    for (const std::int64_t code : operand.constant->to_integers()) {
      values.push_back(static_cast<double>(code - operand.zero_point()) * operand.scale());
    }
    return values;
  }
  if (operand.constant->type() != DType::float32) return std::nullopt;
  for (const float value : operand.constant->span<float>()) values.push_back(static_cast<double>(value));
  return values;
}

using BinaryFunction = double (*)(double, double);
const std::map<std::string_view, BinaryFunction>& binary_functions() {
  static const std::map<std::string_view, BinaryFunction> table{
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
  };
  return table;
}

/// BatchNormalization that was not folded: a table per channel.
Result<Kernel> make_batch_normalization(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor() || binding.node.int_or("training_mode", 0) != 0) return Kernel();
  std::vector<std::vector<double>> parameters;
  for (std::size_t i = 1; i < 5; ++i) {
    auto values = constant_values(binding.operand(i));
    if (!values || (i > 1 && values->size() != parameters[0].size())) return Kernel();
    parameters.push_back(std::move(*values));
  }
  const double epsilon = binding.node.float_or("epsilon", 1e-5);
  std::vector<std::uint8_t> tables;
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const double factor = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    const double addend = parameters[1][c] - parameters[2][c] * factor;
    append_table(
        x, binding.outputs[0], binding.policy, [=](double value) { return value * factor + addend; }, tables);
  }
  return Kernel([tables, type = binding.outputs[0].type](const Call& call) -> Status {
    const Buffer& codes = call.input(0);
    const auto channels = static_cast<std::int64_t>(tables.size() / kCodes);
    if (codes.rank() < 2 || codes.shape()[1] != channels) return invalid_data("parameters do not fit the channels");
    call.outputs[0] = Buffer(type, codes.shape());
    const std::int64_t planes = codes.shape()[0] * channels;
    const std::int64_t plane = planes == 0 ? 0 : codes.size() / planes;
    const auto* in = codes.data<std::uint8_t>();
    auto* out = call.outputs[0].data<std::uint8_t>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const std::uint8_t* table = tables.data() + static_cast<std::size_t>(p % channels) * kCodes;
      for (std::int64_t i = 0; i < plane; ++i) *out++ = table[*in++];
    }
    return core::success();
  });
}

/// Softmax along rows of codes: exp(s_x * (q - largest)) comes from a table of 256 differences, sums run in float64 and
/// every quotient is rounded once.
Result<Kernel> make_softmax(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor()) return Kernel();
  std::vector<double> powers;
  for (std::size_t i = 0; i < kCodes; ++i) powers.push_back(std::exp(-static_cast<double>(i) * x.scale()));
  const bool one_axis = binding.opset >= 13;
  const std::int64_t axis = binding.node.int_or("axis", one_axis ? -1 : 1);
  return Kernel([powers, one_axis, axis, out = binding.outputs[0],
                 policy = binding.policy](const Call& call) -> Status {
    const Buffer& codes = call.input(0);
    const auto resolved = resolve_axis(axis, codes.rank());
    if (!resolved) return resolved.error();
    const Shape after(codes.shape().begin() + *resolved + 1, codes.shape().end());
    const std::int64_t inner = one_axis ? core::element_count(after) : 1;
    const std::int64_t extent =
        codes.shape()[static_cast<std::size_t>(*resolved)] * (one_axis ? 1 : core::element_count(after));
    call.outputs[0] = Buffer(out.type, codes.shape());
    if (codes.size() == 0) return core::success();
    with_code_type(codes.type(), [&](auto code) {
      using Code = decltype(code);
      for (std::int64_t row = 0; row < codes.size() / extent; ++row) {
        const std::int64_t first = row / inner * extent * inner + row % inner;
        const auto* in = codes.data<Code>() + first;
        auto* target = call.outputs[0].data<std::uint8_t>() + first;
        Code largest = in[0];
        for (std::int64_t i = 1; i < extent; ++i) largest = std::max(largest, in[i * inner]);
        const auto power = [&](std::int64_t i) { return powers[static_cast<std::size_t>(largest - in[i * inner])]; };
        double sum = 0;
        for (std::int64_t i = 0; i < extent; ++i) sum += power(i);
        for (std::int64_t i = 0; i < extent; ++i) {
          target[i * inner] = finish_code(power(i) / sum / out.scale, out, policy);
        }
      }
    });
    return core::success();
  });
}

}  // namespace

Result<Kernel> make_constant_operand_table(const IntegerBinding& binding) {
  const auto function = binary_functions().find(binding.node.op_type);
  if (function == binary_functions().end() || binding.operands.size() != 2) return Kernel();
  const bool second = binding.operand(1).constant != nullptr;
  const Operand& x = binding.operand(second ? 0 : 1);
  const Operand& fixed = binding.operand(second ? 1 : 0);
  const auto values = constant_values(fixed);
  if (!x.is_per_tensor() || !values) return Kernel();
  std::vector<std::uint8_t> tables;
  for (const double value : *values) {
    const auto apply = [combine = function->second, value, second](double code) {
      return second ? combine(code, value) : combine(value, code);
    };
    append_table(x, binding.outputs[0], binding.policy, apply, tables);
  }
  return Kernel(
      [tables, shape = fixed.constant->shape(), second, type = binding.outputs[0].type](const Call& call) -> Status {
        const Buffer& codes = call.input(second ? 0 : 1);
        const std::array<const Shape*, 2> shapes{&codes.shape(), &shape};
        auto walk = Broadcast::of(shapes);
        if (!walk) return walk.error();
        call.outputs[0] = Buffer(type, walk->shape());
        auto* out = call.outputs[0].data<std::uint8_t>();
        walk->for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
          const auto* in = codes.data<std::uint8_t>() + offsets[0];
          const auto* table = tables.data() + static_cast<std::size_t>(offsets[1]) * kCodes;
          const auto table_step = static_cast<std::size_t>(walk->step(1)) * kCodes;
          for (std::int64_t i = 0; i < walk->row_length(); ++i) {
            out[row + i] = table[static_cast<std::size_t>(i) * table_step + in[i * walk->step(0)]];
          }
        });
        return core::success();
      });
}

void add_integer_table_makers(IntegerMakerTable& table) {
  // Not in place of an integer form that is there: Relu's.
  for (const std::string_view name : unary_operators()) table.emplace(name, &make_unary);
  for (const auto* name : {"Div", "Pow", "PRelu"}) table[name] = &make_constant_operand_table;
  table["BatchNormalization"] = &make_batch_normalization;
  table["Softmax"] = &make_softmax;
}

}  // namespace assay::embedded::engine
