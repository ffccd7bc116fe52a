#pragma once

#include <memory>

#include "harness/core/tensor.hpp"

namespace assay::judge {

/// `tensor`, or a copy where the pointer owns nothing: such a one looks at a tensor of somebody else's, which may be
/// gone before whoever keeps the pointer.
[[nodiscard]] inline core::TensorPtr owned(const core::TensorPtr& tensor) {
  const bool lent = tensor != nullptr && tensor.use_count() == 0;
  return lent ? std::make_shared<const core::Tensor>(*tensor) : tensor;
}

}  // namespace assay::judge
