#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

Result<std::vector<Tensor>> run(const OpCall& call) { return single_output(call.in(0)); }

}  // namespace

const OpDef& op_identity() {
  static const OpDef def{.name = "Identity", .run = &run};
  return def;
}

}  // namespace assay::reference
