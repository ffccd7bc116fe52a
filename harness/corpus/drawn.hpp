#pragma once

#include <vector>

#include "harness/core/rng.hpp"
#include "harness/core/tensor.hpp"

namespace assay::corpus {

/// A batch of pictures [N,C,H,W]: a gradient as the page, boxes, and lines of strokes the size of letters, in ink and
/// page colours that vary, with a little sensor noise. Values run from -1 to 1 (black to white), as PP-OCR's models
/// expect after (x/255 - 0.5) / 0.5; every value is one of the 256 that a picture of bytes can hold.
[[nodiscard]] std::vector<double> draw_pictures(const core::Shape& shape, core::Rng& rng);

}  // namespace assay::corpus
