#include <fmt/format.h>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::uint64_t kWidestShift = 63;
constexpr std::array kUnsigned{DType::uint8, DType::uint16, DType::uint32, DType::uint64};

// ONNX BitShift-11 on unsigned types; bits that leave the type are lost, however far the shift.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const auto type = require_type(call, 0, kUnsigned); !type) return type.error();
  const std::string direction = call.node.string_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return op_error(fmt::format("direction is \"{}\", expected LEFT or RIGHT", direction));
  }
  const bool left = direction == "LEFT";
  return binary(call, [left](auto value, auto amount) {
    const auto bits = static_cast<std::uint64_t>(value);
    const auto by = static_cast<std::uint64_t>(amount);
    if (by > kWidestShift) return decltype(value){0};
    return static_cast<decltype(value)>(left ? bits << by : bits >> by);
  });
}

Result<Facts> infer(const ShapeCall& call) {
  if (const auto type = require_type(call, 0, kUnsigned); !type) return type.error();
  return infer_binary(call);
}

}  // namespace

const OpDef& op_bit_shift() {
  static const OpDef def{
      .name = "BitShift", .first_opset = 11, .min_inputs = 2, .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
