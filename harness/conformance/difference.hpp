#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/core/tensor.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::conformance {

/// How two tensors compare.
struct Difference {
  std::optional<judge::Facet> facet;  ///< the first that differs, from structure to numbers; none where all is equal
  std::string text;                   ///< the first element beyond its limit, in one line
  std::size_t worst = 0;              ///< the element with the largest |error| ÷ limit, of real tensors
  double margin = 0;                  ///< that largest
};

/// Types and shapes are equal, integers and booleans too; NaN stands where NaN is, and a real element may be off by its
/// element of `limits`, which has one for each. An infinity stands where the actual value rounds to one in its type.
[[nodiscard]] Difference compare(const core::Tensor& expected, const core::Tensor& actual,
                                 std::span<const double> limits);

/// "[0,3,1]": where element `index` lies in row-major order.
[[nodiscard]] std::string index_text(std::size_t index, const core::Shape& shape);

}  // namespace assay::conformance
