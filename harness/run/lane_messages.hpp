#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/store.hpp"

namespace assay::run {

/// What a lane (lane.hpp) is to do: verdicts of one case. A place is one of its converters and option sets, see
/// place().
struct LaneOrder {
  std::size_t item = 0;
  std::vector<std::size_t> places;
};

/// One converter as the first lane found it.
struct LaneDescribed {
  std::string line;  ///< protocol 1's; empty where it could not be described
  std::string broken;
  std::size_t broken_as = 0;  ///< converters::Outcome
  std::string hash;
};

/// What a lane says.
struct LaneNews {
  std::vector<LaneDescribed> described;  ///< of all converters; once, where it was asked to
  std::size_t item = 0, place = 0;
  bool item_done = false;
  std::optional<results::ResultRow> row;      ///< the verdict; nothing where it has only been begun
  std::vector<std::size_t> met_expectations;  ///< suites::ExpectedFailures::met()
};

/// The same program reads and writes them: bytes as they are in memory, and strings of any content.
[[nodiscard]] std::string write_message(const LaneOrder& order);
[[nodiscard]] std::string write_message(const LaneNews& news);
/// Nothing, for bytes that write_message() doesn't write: a lane whose memory is damaged may send anything.
[[nodiscard]] std::optional<LaneOrder> read_order(std::string_view bytes);
[[nodiscard]] std::optional<LaneNews> read_news(std::string_view bytes);

}  // namespace assay::run
