#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

// ONNX ScatterElements-18.
const OpDef& op_scatter_elements() {
  static const OpDef def{.name = "ScatterElements",
                         .first_opset = 11,
                         .last_opset = 23,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &scatter_along_axis,
                         .infer = &infer_scatter_along_axis};
  return def;
}

}  // namespace assay::reference
