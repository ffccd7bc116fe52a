#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/forked.hpp"
#include "harness/run/lane.hpp"
#include "harness/run/lane_messages.hpp"

namespace assay::run {

/// What the judging of one verdict may take.
struct JudgeLimits {
  double timeout_s = 0;
  std::uint64_t memory_bytes = 0;  ///< of a lane, for all that it is at
};

/// A verdict that its lane died of.
struct Fall {
  std::size_t item = 0, place = 0;
  converters::Outcome outcome = converters::Outcome::crash;
  std::string reason;
  double seconds = 0;
};

/// The lanes of a run: forked, fed, watched and buried by the main process, which needs no other thread. A lane that
/// dies is forked anew. What it was at is tried again, each verdict with nothing else beside it, so that only the one
/// that kills it again is blamed. One that outlasts its limit of time is known at once.
class Lanes {
 public:
  /// The work of a lane, in the child.
  using Serve = std::function<void(core::Forked::Line& line, LaneSlots& slots)>;
  /// What the lanes give.
  struct Taker {
    std::function<void(std::size_t item, std::size_t place)> begun;
    std::function<void(LaneNews news)> verdict;
    std::function<void(const Fall& fall)> fell;
  };
  /// Starts nothing. `count`: of lanes, at least 1.
  Lanes(std::size_t count, Serve serve);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  /// Kills what still runs.
  ~Lanes();

  /// What the first lane describes, once it is started. Nothing where `stopped` says so.
  /// Errors   internal, where it dies of that again and again.
  [[nodiscard]] core::Result<std::optional<std::vector<LaneDescribed>>> described(const std::function<bool()>& stopped);

  void add(std::size_t item, std::vector<std::size_t> places) { waiting_.push_back({item, std::move(places), false}); }
  /// Hands out what waits, waits for news for a moment, and looks after the lanes.
  /// Errors   io or internal, where lanes can't be started or die without having begun anything.
  [[nodiscard]] core::Status step(const JudgeLimits& limits, const Taker& taker);
  /// Everything that was added has a verdict.
  [[nodiscard]] bool done() const;
  /// Takes back what waits.
  void drop_waiting() { waiting_.clear(); }
  /// Lets the lanes end the converters' programs as they should be ended, for some seconds.
  void dismiss();

 private:
  struct Work {
    std::size_t item;
    std::vector<std::size_t> places;
    bool alone;
  };
  using Job = std::pair<std::size_t, std::size_t>;  ///< item and place
  struct UnmapSlots {
    void operator()(LaneSlots* slots) const;
  };
  struct Order {
    std::set<std::size_t> left;  ///< places without a verdict
    bool alone;
  };
  enum class Killed { no, late, for_memory, for_machine };
  struct Lane {
    std::optional<core::Forked> process;
    std::unique_ptr<LaneSlots, UnmapSlots> slots;
    std::map<std::size_t, Order> orders;  ///< by item
    Killed killed = Killed::no;           ///< by us
    std::map<Job, std::chrono::steady_clock::time_point> begun;
  };

  [[nodiscard]] core::Status start(Lane& lane);
  [[nodiscard]] core::Status hand_out();
  [[nodiscard]] Lane* free_lane(const Work& work);
  void receive(Lane& lane, const Taker& taker);
  void watch(Lane& lane, const JudgeLimits& limits, const Taker& taker);
  void relieve();
  [[nodiscard]] std::vector<Job> under_way(const Lane& lane) const;
  void bury(Lane& lane, const JudgeLimits& limits, const Taker& taker);
  void fell(Lane& lane, Job job, converters::Outcome outcome, std::string reason, const Taker& taker);

  Serve serve_;
  std::vector<Lane> lanes_;
  std::deque<Work> waiting_;
  std::map<Job, int> deaths_;  ///< that a verdict was under way in
  std::chrono::steady_clock::time_point watched_;
  std::optional<core::ExitState> idle_death_;  ///< of a lane that had begun nothing
  int idle_deaths_ = 0;                        ///< in a row
  bool any_died_ = false;
};

/// `config`'s limits; of memory, where it says none, four fifths of the machine's or of this container's.
[[nodiscard]] JudgeLimits judge_limits(const RunConfig& config);

}  // namespace assay::run
