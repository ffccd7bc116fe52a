#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

Result<std::vector<Tensor>> run(const OpCall& call) {
  return single_output(Tensor(DType::int64, {}, std::vector<std::int64_t>{call.in(0).size()}));
}

}  // namespace

const OpDef& op_size() {
  static const OpDef def{.name = "Size", .run = &run};
  return def;
}

}  // namespace assay::reference
