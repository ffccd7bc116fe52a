// Add, Sub and Mul of two quantized tensors, with broadcasting.
#include "converters/embedded/engine/geometry.hpp"

#include <array>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/table.hpp"

namespace assay::embedded::engine {
namespace {

Result<Broadcast> walk_of(const Call& call) {
  const std::array<const Shape*, 2> shapes{&call.input(0).shape(), &call.input(1).shape()};
  return Broadcast::of(shapes);
}

/// Calls body(first code, second code, their steps, output element, count) with pointers of the codes' own types.
template <typename Body>
void for_each_run(const Call& call, const Broadcast& walk, Body&& body) {
  with_code_type(call.input(0).type(), [&](auto first) {
    with_code_type(call.input(1).type(), [&](auto second) {
      walk.for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
        body(call.input(0).data<decltype(first)>() + offsets[0], call.input(1).data<decltype(second)>() + offsets[1],
             row);
      });
    });
  });
}

Result<Kernel> make_sum(const IntegerBinding& binding, double sign) {
  const Operand& a = binding.operand(0);
  const Operand& b = binding.operand(1);
  if (!a.is_per_tensor() || !b.is_per_tensor()) return make_constant_operand_table(binding);
  const SumRequantizer requantizer(binding.policy, binding.outputs[0], a.scale(), sign * b.scale());
  return Kernel([requantizer, type = binding.outputs[0].type, left = subtracted_zero_point(a, binding.policy),
                 right = subtracted_zero_point(b, binding.policy)](const Call& call) -> Status {
    auto walk = walk_of(call);
    if (!walk) return walk.error();
    call.outputs[0] = Buffer(type, walk->shape());
    auto* out = call.outputs[0].data<std::uint8_t>();
    const std::int64_t length = walk->row_length();
    const std::int64_t left_step = walk->step(0);
    const std::int64_t right_step = walk->step(1);
    for_each_run(call, *walk, [&](const auto* x, const auto* y, std::int64_t row) {
      if (requantizer.fast() == nullptr) {
        for (std::int64_t i = 0; i < length; ++i) {
          out[row + i] = requantizer.code(x[i * left_step] - left, y[i * right_step] - right);
        }
        return;
      }
      const SumRequantizer::Fast fast = *requantizer.fast();
      constexpr double kRoundingShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds half to even
      for (std::int64_t i = 0; i < length; ++i) {
        double value = static_cast<double>(x[i * left_step] - left) * fast.first +
                       static_cast<double>(y[i * right_step] - right) * fast.second;
        value = value < fast.low ? fast.low : value;
        value = value > fast.high ? fast.high : value;
        value = (value + kRoundingShift) - kRoundingShift;
        out[row + i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(value + fast.zero_point));
      }
    });
    return core::success();
  });
}

Result<Kernel> make_add(const IntegerBinding& binding) { return make_sum(binding, 1); }
Result<Kernel> make_sub(const IntegerBinding& binding) { return make_sum(binding, -1); }

Result<Kernel> make_mul(const IntegerBinding& binding) {
  const Operand& a = binding.operand(0);
  const Operand& b = binding.operand(1);
  if (!a.is_per_tensor() || !b.is_per_tensor()) return make_constant_operand_table(binding);
  const std::array scales{a.scale() * b.scale()};
  const Requantizer requantizer(binding.policy, binding.outputs[0], scales);
  return Kernel([requantizer, type = binding.outputs[0].type, left = subtracted_zero_point(a, binding.policy),
                 right = subtracted_zero_point(b, binding.policy)](const Call& call) -> Status {
    auto walk = walk_of(call);
    if (!walk) return walk.error();
    call.outputs[0] = Buffer(type, walk->shape());
    auto* out = call.outputs[0].data<std::uint8_t>();
    const std::int64_t left_step = walk->step(0);
    const std::int64_t right_step = walk->step(1);
    std::vector<std::int32_t> products(static_cast<std::size_t>(walk->row_length()));
    for_each_run(call, *walk, [&](const auto* x, const auto* y, std::int64_t row) {
      for (std::int64_t i = 0; i < walk->row_length(); ++i) {
        products[static_cast<std::size_t>(i)] = (x[i * left_step] - left) * (y[i * right_step] - right);
      }
      requantizer.row(products.data(), walk->row_length(), 0, out + row);
    });
    return core::success();
  });
}

}  // namespace

void add_integer_elementwise_makers(IntegerMakerTable& table) {
  table["Add"] = &make_add;
  table["Sub"] = &make_sub;
  table["Mul"] = &make_mul;
}

}  // namespace assay::embedded::engine
