#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"

namespace assay::reference {
namespace {

// ONNX GatherElements-13: each index replaces the coordinate along axis of its own position.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const auto from = positions_along_axis(call);
  if (!from) return from.error();
  return single_output(elements_at(call.in(0), *from, call.in(1).shape()));
}

}  // namespace

const OpDef& op_gather_elements() {
  static const OpDef def{.name = "GatherElements", .first_opset = 11, .min_inputs = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
