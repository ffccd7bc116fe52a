#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {

/// A reduction bound to its input: which output element each input element belongs to.
struct Reduction {
  Shape kept;              ///< the output's shape with reduced dimensions as 1
  Shape out_shape;         ///< with or without them
  std::int64_t group = 1;  ///< input elements per output element
};

/// What Reduce operators take from their node: axes as an attribute, keepdims, noop_with_empty_axes.
struct ReductionAttributes {
  std::vector<std::int64_t> axes;
  bool keeps = true;
  bool none_when_empty = false;
};
[[nodiscard]] ReductionAttributes read_reduction_attributes(const Node& node);

/// `axes` is input 1 where it is given, else the attribute.
[[nodiscard]] Result<Reduction> bind_reduction(const ReductionAttributes& attributes, const Call& call);

/// Calls body(input element, output element) for every element, in the input's order.
template <typename Body>
void for_each_reduced(const Shape& shape, const Shape& kept, Body&& body) {
  const std::array<const Shape*, 2> shapes{&shape, &kept};
  const auto walk = Broadcast::of(shapes);
  if (!walk) return;  // kept is made from shape, so they fit
  walk->for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
    for (std::int64_t i = 0; i < walk->row_length(); ++i) body(row + i, offsets[1] + i * walk->step(1));
  });
}

}  // namespace assay::embedded::engine
