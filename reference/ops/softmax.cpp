#include "reference/softmax.hpp"

#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Softmax-13 (and -11, which flattens): exp(x) / sum exp(x) along a line.
Result<std::vector<Tensor>> run_softmax(const OpCall& call) { return softmax_lines(call, /*logarithm=*/false); }

}  // namespace

const OpDef& op_softmax() {
  static const OpDef def{.name = "Softmax", .run = &run_softmax, .infer = &infer_softmax};
  return def;
}

}  // namespace assay::reference
