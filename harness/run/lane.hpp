#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/core/forked.hpp"
#include "harness/programs/subject.hpp"
#include "harness/run/runner.hpp"
#include "harness/suites/expected.hpp"

namespace assay::run {

/// Threads of a lane: one judges what it was answered while the other asks.
inline constexpr std::size_t kThreadsOfALane = 2;

/// What a lane's threads are at, in memory that it shares with the main process.
struct LaneSlots {
  struct Slot {
    /// Since when it has been computing by itself, by the steady clock in nanoseconds; 0: it hasn't, it waits for the
    /// converter or for work. The converter has a limit of its own.
    std::atomic<std::int64_t> since{0};
    std::atomic<std::uint64_t> job{0};  ///< slot_job() of the verdict under way, 0: none
  };
  std::array<Slot, kThreadsOfALane> slots;
};
/// A verdict as a slot says it.
[[nodiscard]] constexpr std::uint64_t slot_job(std::size_t item, std::size_t place) {
  constexpr unsigned kPlaceBits = 32;
  return ((std::uint64_t{item} + 1) << kPlaceBits) | place;
}
[[nodiscard]] std::int64_t steady_now_ns();

/// The work of one forked child of a run, a *lane*: converts and judges what it is ordered to (lane_messages.hpp), with
/// a process of its own of each converter, until no more orders come. What kills it costs no more than the verdicts
/// that it is at.
/// `expected`: this process's copy; `planned_verdicts`: of the whole run. A subject whose client describes it already
/// is asked further.
void serve_lane(const RunConfig& config, std::vector<programs::Subject>& subjects, suites::ExpectedFailures& expected,
                std::size_t planned_verdicts, core::Forked::Line& line, LaneSlots& slots);

/// The limits on the converters of a lane.
[[nodiscard]] programs::ClientLimits client_limits(const RunConfig& config);

}  // namespace assay::run
