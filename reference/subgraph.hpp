#pragma once

#include <cstdint>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// The results of one subgraph output over the iterations of a Loop or Scan, to be stacked along a new axis.
class Stack {
 public:
  /// Errors   an element of another type or shape than the first; more elements in all than a tensor may have.
  [[nodiscard]] core::Status add(Tensor element);
  /// All elements along the new `axis`, in order (or last first). Without any, an empty tensor with what `declared`
  /// says of their type and shape.
  [[nodiscard]] Result<Tensor> joined(std::int64_t axis, const model::ValueInfo& declared, bool reversed = false) const;

 private:
  std::vector<Tensor> elements_;
  std::int64_t count_ = 0;
};

}  // namespace assay::reference
