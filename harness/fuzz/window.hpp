#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/fuzz/draft.hpp"

namespace assay::fuzz {

/// A sliding window over the axes from 2 on: kernel and the attributes that say how it moves.
struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, begins, ends;
  std::string auto_pad = "NOTSET";

  /// Those that differ from their defaults, and now and then those that don't.
  [[nodiscard]] std::map<std::string, model::Attribute> attributes(Draft& draft, bool with_dilations) const;
};

/// One that fits into `shape` wherever it stands. A window of a pooling always sees an element of the input.
[[nodiscard]] Window draw_window(Draft& draft, const core::Shape& shape, std::int64_t largest_kernel,
                                 bool with_dilations);

}  // namespace assay::fuzz
