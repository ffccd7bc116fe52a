#include "reference/cast.hpp"
#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

// ONNX Cast-13.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const auto type = type_argument(call, "to", DType::undefined);
  if (!type) return type.error();
  return single_output(cast(call.in(0), *type));
}

}  // namespace

const OpDef& op_cast() {
  static const OpDef def{.name = "Cast", .first_opset = 6, .run = &run};
  return def;
}

}  // namespace assay::reference
