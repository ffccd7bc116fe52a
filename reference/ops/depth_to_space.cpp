#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX DepthToSpace-13: channels become blocks of height and width. DCR: the block position varies slower than the
// channel, CRD: faster.
Result<std::vector<Tensor>> run_depth_to_space(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t block = call.node.int_or("blocksize", 0);
  const std::string mode = call.node.string_or("mode", "DCR");
  if (x.rank() != 4 || block < 1 || block > kElementLimit) {
    return op_error(fmt::format("input {} and blocksize {}; expected rank 4 and at least 1", tensor_text(x), block));
  }
  if (mode != "DCR" && mode != "CRD") return op_error(fmt::format("mode is \"{}\", expected DCR or CRD", mode));
  const Shape& from = x.shape();
  if (from[1] % (block * block) != 0) {
    return op_error(fmt::format("{} channels do not divide by blocksize {} squared", from[1], block));
  }
  const std::int64_t channels = from[1] / (block * block);
  const bool depth_first = mode == "DCR";
  const Tensor split = x.reshaped(depth_first ? Shape{from[0], block, block, channels, from[2], from[3]}
                                              : Shape{from[0], channels, block, block, from[2], from[3]});
  const std::vector<std::int64_t> perm =
      depth_first ? std::vector<std::int64_t>{0, 3, 4, 1, 5, 2} : std::vector<std::int64_t>{0, 1, 4, 2, 5, 3};
  auto moved = transposed(split, perm);
  if (!moved) return moved.error();
  return single_output(std::move(*moved).reshaped({from[0], channels, from[2] * block, from[3] * block}));
}

Result<Facts> infer_depth_to_space(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 4); !rank) return rank.error();
  const Dims from = call.in(0).shape.value_or(unknown_dims(4));
  const std::int64_t block = call.node.int_or("blocksize", 0);
  const auto in_rows = divided(from[1], block, "blocksize");
  if (!in_rows) return in_rows.error();
  const auto channels = divided(*in_rows, block, "blocksize");
  if (!channels) return channels.error();
  const std::array height{from[2], known(block)};
  const std::array width{from[3], known(block)};
  return one(call.in(0).type, Dims{from[0], *channels, product(height), product(width)});
}

}  // namespace

const OpDef& op_depth_to_space() {
  static const OpDef def{.name = "DepthToSpace", .run = &run_depth_to_space, .infer = &infer_depth_to_space};
  return def;
}

}  // namespace assay::reference
