#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

// ONNX SpaceToDepth-13: blocks of height and width become channels; the block position varies slowest.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t block = call.node.int_or("blocksize", 0);
  if (x.rank() != 4 || block < 1 || block > kElementLimit || x.shape()[2] % block != 0 || x.shape()[3] % block != 0) {
    return op_error(fmt::format("{} does not divide into blocks of {} by {}", tensor_text(x), block, block));
  }
  const Shape& from = x.shape();
  const std::int64_t height = from[2] / block;
  const std::int64_t width = from[3] / block;
  auto moved = transposed(x.reshaped({from[0], from[1], height, block, width, block}), {0, 3, 5, 1, 2, 4});
  if (!moved) return moved.error();
  return single_output(std::move(*moved).reshaped({from[0], from[1] * block * block, height, width}));
}

}  // namespace

const OpDef& op_space_to_depth() {
  static const OpDef def{.name = "SpaceToDepth", .run = &run};
  return def;
}

}  // namespace assay::reference
