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

/// What holds of the states of a Loop or Scan in every iteration, and of the body's outputs: `body_outputs(states)` are
/// inferred again with what the outputs (the states' from number `first` on) have in common with the states, until that
/// is all. Values are not followed, since they change.
/// Errors   those of the body; a state that changes its type.
struct Iterated {
  std::vector<TensorFacts> states;
  std::vector<TensorFacts> outputs;
};
[[nodiscard]] Result<Iterated> infer_iterations(
    std::vector<TensorFacts> states, std::size_t first,
    const std::function<Result<std::vector<TensorFacts>>(const std::vector<TensorFacts>&)>& body_outputs);

/// `element` stacked along a new `axis` of this extent.
[[nodiscard]] Result<TensorFacts> stacked(const TensorFacts& element, std::int64_t axis, const Dimension& extent);

}  // namespace assay::reference
