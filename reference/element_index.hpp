#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

// Positions (in row-major order) of data elements that an indices tensor points at: GatherElements, GatherND and the
// Scatter operators read and write by them.

/// For every element of input 1 the position in input 0 that has its coordinates, but for `axis`, where the element's
/// value stands. Errors   ranks differ; an index outside.
[[nodiscard]] Result<std::vector<std::int64_t>> positions_along_axis(const OpCall& call);

/// The last axis of input 1 holds the leading coordinates of blocks of input 0; the first `batch_axes` axes are shared.
struct Blocks {
  std::vector<std::int64_t> begin;  ///< position of each block's first element
  std::int64_t size = 1;            ///< elements of a block
  Shape shape;                      ///< of a block
};
/// The shape of what the blocks make together: that of the indices but for the last axis, then a block's.
[[nodiscard]] Result<std::optional<Dims>> blocks_dims(const ShapeCall& call, std::int64_t batch_axes);
/// The rule of ScatterElements and Scatter: input 0, whose indices and updates have one shape.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_scatter_along_axis(const ShapeCall& call);

/// Errors   more coordinates than axes; an index outside; batch axes that differ.
[[nodiscard]] Result<Blocks> blocks_at(const OpCall& call, std::int64_t batch_axes);

/// The elements of `data` at `positions`, in that order.
[[nodiscard]] Tensor elements_at(const Tensor& data, const std::vector<std::int64_t>& positions, Shape shape);

/// `data` with `updates` written at `positions` one after the other, combined as `reduction` says: none, add, mul, min
/// or max. Errors   another word; types that differ.
[[nodiscard]] Result<Tensor> scattered(const Tensor& data, const std::vector<std::int64_t>& positions,
                                       const Tensor& updates, const std::string& reduction);

/// ScatterElements: every update (input 2) goes to the position of its index (input 1).
[[nodiscard]] Result<std::vector<Tensor>> scatter_along_axis(const OpCall& call);

}  // namespace assay::reference
