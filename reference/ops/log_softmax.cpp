#include "reference/shape_rules.hpp"
#include "reference/softmax.hpp"

namespace assay::reference {
namespace {

/// ONNX LogSoftmax-13 (and -11, which flattens): x - log(sum exp(x)) along a line.
Result<std::vector<Tensor>> run_log_softmax(const OpCall& call) { return softmax_lines(call, /*logarithm=*/true); }

}  // namespace

const OpDef& op_log_softmax() {
  static const OpDef def{.name = "LogSoftmax", .run = &run_log_softmax, .infer = &infer_softmax};
  return def;
}

}  // namespace assay::reference
