#include <fmt/format.h>

#include <bit>

#include "harness/core/float_format.hpp"
#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// The bits of element `index` in its type. A real is rounded to the type first.
std::uint64_t bits_of(const Tensor& x, std::int64_t index) {
  if (!x.is_real()) return static_cast<std::uint64_t>(x.integers()[at(index)]);
  const double value = core::round_to_type(x.reals()[at(index)], x.type());
  if (x.type() == DType::float64) return std::bit_cast<std::uint64_t>(value);
  if (x.type() == DType::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return core::encode_float(value, core::float_format(x.type()));
}

double real_of(std::uint64_t bits, DType type) {
  if (type == DType::float64) return std::bit_cast<double>(bits);
  const auto code = static_cast<std::uint32_t>(bits);
  if (type == DType::float32) return static_cast<double>(std::bit_cast<float>(code));
  return core::decode_float(code & static_cast<std::uint32_t>((1U << core::element_size_bits(type)) - 1U),
                            core::float_format(type));
}

// ONNX BitCast-26: the bits of each element read as another type of the same size. A NaN keeps no payload.
Result<std::vector<Tensor>> run_bit_cast(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto type = type_argument(call, "to", DType::undefined);
  if (!type) return type.error();
  if (core::element_size_bits(*type) != core::element_size_bits(x.type())) {
    return op_error(
        fmt::format("{} can't be read as {}, which has another size", tensor_text(x), core::dtype_name(*type)));
  }
  if (core::is_real(*type)) {
    std::vector<double> values(at(x.size()));
    for (std::int64_t i = 0; i < x.size(); ++i) values[at(i)] = real_of(bits_of(x, i), *type);
    return single_output(Tensor(*type, x.shape(), std::move(values)));
  }
  std::vector<std::int64_t> values(at(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) values[at(i)] = wrap(static_cast<std::int64_t>(bits_of(x, i)), *type);
  return single_output(Tensor(*type, x.shape(), std::move(values)));
}

Result<Facts> infer_bit_cast(const ShapeCall& call) {
  const auto type = type_argument(call, "to", DType::undefined);
  if (!type) return type.error();
  return one(*type, call.in(0).shape);
}

}  // namespace

const OpDef& op_bit_cast() {
  static const OpDef def{.name = "BitCast", .first_opset = 26, .run = &run_bit_cast, .infer = &infer_bit_cast};
  return def;
}

}  // namespace assay::reference
