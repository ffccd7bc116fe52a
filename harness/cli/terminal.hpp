#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "harness/cli/print.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::cli {

/// What a stream can show.
struct Terminal {
  bool live = false;      ///< a terminal on which a line can be drawn again
  bool colour = false;    ///< and in colour
  std::size_t width = 0;  ///< columns; 0: no limit

  /// Colour unless NO_COLOR is set to something or TERM is dumb; a terminal that is dumb draws no line again.
  [[nodiscard]] static Terminal of(std::FILE* stream);
  /// `line` within the width, "…" at its end where it is cut. Each character is taken as one column.
  [[nodiscard]] std::string cut(const std::string& line) const;
  /// `text` in the colour of a gate: red, yellow, green, or plain.
  [[nodiscard]] Painted painted(const std::string& text, std::optional<judge::Gate> gate) const;
  [[nodiscard]] Painted bold(const std::string& text) const;
};

/// "0:07", "12:30", "1:02:03".
[[nodiscard]] std::string clock_text(double seconds);

/// One line on standard error that is drawn again and again: how many of how many, how fast, how long still.
class Progress {
 public:
  explicit Progress(Terminal terminal) : terminal_(terminal) {}
  /// One more is done. Draws at most ten times a second.
  void step(std::size_t done, std::size_t planned, std::string_view name);
  /// Takes the line away, for other text or at the end.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Terminal terminal_;
  Clock::time_point begun_ = Clock::now(), drawn_{};
  std::size_t before_ = 0;  ///< done before the first step: a run that is resumed
  bool first_ = true, shown_ = false;
};

}  // namespace assay::cli
