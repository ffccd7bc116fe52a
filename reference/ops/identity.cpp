#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<std::vector<Tensor>> run_identity(const OpCall& call) { return single_output(call.in(0)); }

}  // namespace

const OpDef& op_identity() {
  static const OpDef def{.name = "Identity", .run = &run_identity, .infer = &infer_same, .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
