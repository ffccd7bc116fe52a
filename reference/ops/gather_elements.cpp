#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX GatherElements-13: each index replaces the coordinate along axis of its own position.
Result<std::vector<Tensor>> run_gather_elements(const OpCall& call) {
  const auto from = positions_along_axis(call);
  if (!from) return from.error();
  return single_output(elements_at(call.in(0), *from, call.in(1).shape()));
}

Result<Facts> infer_gather_elements(const ShapeCall& call) {
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  if (const auto axis = axis_argument(call, "axis", 0); !axis) return axis.error();
  const auto rank = call.in(0).rank();
  if (rank) {
    if (const auto same = require_rank(call, 1, at(*rank)); !same) return same.error();
  }
  return one(call.in(0).type, call.in(1).shape);
}

}  // namespace

const OpDef& op_gather_elements() {
  static const OpDef def{.name = "GatherElements",
                         .first_opset = 11,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_gather_elements,
                         .infer = &infer_gather_elements};
  return def;
}

}  // namespace assay::reference
