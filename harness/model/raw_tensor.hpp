#pragma once

// Private to harness/model: elements in their raw little-endian form, as ONNX and NumPy store them.

#include <string_view>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"

namespace assay::model {

/// Errors   invalid_data where the bytes are not exactly the shape's.
[[nodiscard]] core::Result<core::Tensor> decode_raw(core::DType type, core::Shape shape, std::string_view bytes);
[[nodiscard]] std::string encode_raw(const core::Tensor& tensor);

}  // namespace assay::model
