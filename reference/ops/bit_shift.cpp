#include <fmt/format.h>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// `value`, an integer of `type`, moved by `amount` bits. A signed value keeps its sign to the right; an amount outside
/// [0, bits of the type) leaves nothing but that sign.
std::int64_t shifted(std::int64_t value, std::int64_t amount, DType type, bool left) {
  const auto bits = static_cast<std::int64_t>(core::element_size_bits(type));
  if (left) {
    const bool inside = amount >= 0 && amount < bits;
    return inside ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << amount) : 0;
  }
  const std::int64_t by = amount >= 0 && amount < bits ? amount : bits - 1;
  if (type != DType::uint64) return value >> by;
  return by == amount ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value) >> by) : 0;
}

template <typename Call>
core::Status check_type(const Call& call) {
  constexpr std::int64_t kSignedToo = 28;
  constexpr std::array kUnsigned{DType::uint8, DType::uint16, DType::uint32, DType::uint64};
  return call.opset >= kSignedToo ? require_integer(call, 0) : require_type(call, 0, kUnsigned);
}

// ONNX BitShift-28 (-11: unsigned types only).
Result<std::vector<Tensor>> run_bit_shift(const OpCall& call) {
  if (const auto type = check_type(call); !type) return type.error();
  const std::string direction = call.node.string_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return op_error(fmt::format("direction is \"{}\", expected LEFT or RIGHT", direction));
  }
  const bool left = direction == "LEFT";
  const DType type = call.in(0).type();
  return binary(call, [=](auto value, auto amount) {
    return static_cast<decltype(value)>(
        shifted(static_cast<std::int64_t>(value), static_cast<std::int64_t>(amount), type, left));
  });
}

Result<Facts> infer_bit_shift(const ShapeCall& call) {
  if (const auto type = check_type(call); !type) return type.error();
  return infer_binary(call);
}

}  // namespace

const OpDef& op_bit_shift() {
  static const OpDef def{.name = "BitShift",
                         .first_opset = 11,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_bit_shift,
                         .infer = &infer_bit_shift};
  return def;
}

}  // namespace assay::reference
