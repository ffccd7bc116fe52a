#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

// ONNX Scatter-9, until opset 10 the name of ScatterElements.
const OpDef& op_scatter() {
  static const OpDef def{.name = "Scatter",
                         .first_opset = 9,
                         .last_opset = 10,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &scatter_along_axis,
                         .infer = &infer_scatter_along_axis};
  return def;
}

}  // namespace assay::reference
