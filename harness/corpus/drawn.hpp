#pragma once

#include <vector>

#include "harness/core/rng.hpp"
#include "harness/core/tensor.hpp"

namespace assay::corpus {

struct PictureStyle {
  bool people = false;         ///< faces before a wall; otherwise a page of text
  bool channels_last = false;  ///< [N,H,W,C] instead of [N,C,H,W]
};

/// A batch of pictures, four axes: a gradient as the page, boxes, and lines of strokes the size of letters, or faces,
/// in colours that vary, with a little sensor noise. Every value is a byte, 0 (black) to 255 (white).
[[nodiscard]] std::vector<double> draw_pictures(const core::Shape& shape, const PictureStyle& style, core::Rng& rng);

/// A recording like speech, 16,000 samples a second: vowels of gliding pitch with three formants, hisses and pauses
/// over a little noise. All rows of `shape` are one recording, one behind the other. Every value is one of the 65,536
/// that 16 bits hold, -1 to 1.
[[nodiscard]] std::vector<double> draw_sound(const core::Shape& shape, core::Rng& rng);

/// The same as the logarithm of its power: the last axis is frequency, up to 8 kHz, the one before it time in steps of
/// 10 ms. 0 is 80 dB below 1.
[[nodiscard]] std::vector<double> draw_spectrum(const core::Shape& shape, core::Rng& rng);

/// Files as bytes, one a row: prose, a program, a table or a binary format. Where a file is shorter than its row, 256
/// follows, which is no byte.
[[nodiscard]] std::vector<double> draw_files(const core::Shape& shape, core::Rng& rng);

}  // namespace assay::corpus
