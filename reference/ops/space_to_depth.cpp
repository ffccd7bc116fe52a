#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX SpaceToDepth-28: blocks of height and width become channels. DCR: the block position varies slower than the
// channel, CRD (attribute mode since opset 28): faster.
Result<std::vector<Tensor>> run_space_to_depth(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t block = call.node.int_or("blocksize", 0);
  if (x.rank() != 4 || block < 1 || block > kElementLimit || x.shape()[2] % block != 0 || x.shape()[3] % block != 0) {
    return op_error(fmt::format("{} does not divide into blocks of {} by {}", tensor_text(x), block, block));
  }
  const std::string mode = call.node.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return op_error(fmt::format("mode is \"{}\", expected DCR or CRD", mode));
  const std::vector<std::int64_t> perm =
      mode == "DCR" ? std::vector<std::int64_t>{0, 3, 5, 1, 2, 4} : std::vector<std::int64_t>{0, 1, 3, 5, 2, 4};
  const Shape& from = x.shape();
  const std::int64_t height = from[2] / block;
  const std::int64_t width = from[3] / block;
  auto moved = transposed(x.reshaped({from[0], from[1], height, block, width, block}), perm);
  if (!moved) return moved.error();
  return single_output(std::move(*moved).reshaped({from[0], from[1] * block * block, height, width}));
}

Result<Facts> infer_space_to_depth(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 4); !rank) return rank.error();
  const Dims from = call.in(0).shape.value_or(unknown_dims(4));
  const std::int64_t block = call.node.int_or("blocksize", 0);
  const auto height = divided(from[2], block, "blocksize");
  if (!height) return height.error();
  const auto width = divided(from[3], block, "blocksize");
  if (!width) return width.error();
  const std::array channels{from[1], known(block), known(block)};
  return one(call.in(0).type, Dims{from[0], product(channels), *height, *width});
}

}  // namespace

const OpDef& op_space_to_depth() {
  static const OpDef def{.name = "SpaceToDepth", .run = &run_space_to_depth, .infer = &infer_space_to_depth};
  return def;
}

}  // namespace assay::reference
