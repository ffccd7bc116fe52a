#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<std::vector<Tensor>> run_size(const OpCall& call) {
  return single_output(Tensor(DType::int64, {}, std::vector<std::int64_t>{call.in(0).size()}));
}

Result<Facts> infer_size(const ShapeCall& call) {
  TensorFacts facts = typed(DType::int64, Dims());
  facts.elements = Dims{call.in(0).size()};
  return Facts{facts};
}

}  // namespace

const OpDef& op_size() {
  static const OpDef def{.name = "Size", .run = &run_size, .infer = &infer_size};
  return def;
}

}  // namespace assay::reference
