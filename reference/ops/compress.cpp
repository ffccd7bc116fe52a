#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Compress-11: what the condition selects along axis, or of the flat data. A short condition drops the rest.
Result<std::vector<Tensor>> run_compress(const OpCall& call) {
  if (const auto boolean = require_boolean(call, 1); !boolean) return boolean.error();
  const bool flat = !call.node.has("axis");
  const Tensor x = flat ? call.in(0).reshaped({call.in(0).size()}) : call.in(0);
  const auto axis = checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const Tensor& condition = call.in(1);
  if (condition.rank() != 1 || condition.size() > x.shape()[at(*axis)]) {
    return op_error(
        fmt::format("condition {} is not a list within axis {} of {}", tensor_text(condition), *axis, tensor_text(x)));
  }
  AxisMap map = AxisMap::identity(x.shape());
  std::vector<std::int64_t>& table = map.axes[at(*axis)];
  std::vector<std::int64_t> selected;
  for (std::size_t i = 0; i < condition.integers().size(); ++i) {
    if (condition.integers()[i] != 0) selected.push_back(table[i]);
  }
  table = std::move(selected);
  return single_output(take(x, map));
}

Result<Facts> infer_compress(const ShapeCall& call) {
  constexpr std::array kBoolean{DType::boolean};
  if (const auto boolean = require_type(call, 1, kBoolean); !boolean) return boolean.error();
  if (const auto list = require_rank(call, 1, 1); !list) return list.error();
  if (!call.node.has("axis")) return one(call.in(0).type, Dims{Dimension()});
  const auto axis = axis_argument(call, "axis", 0);
  if (!axis) return axis.error();
  return one(call.in(0).type, with_extent(call.in(0).shape, *axis, Dimension()));
}

}  // namespace

const OpDef& op_compress() {
  static const OpDef def{.name = "Compress",
                         .first_opset = 9,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_compress,
                         .infer = &infer_compress};
  return def;
}

}  // namespace assay::reference
