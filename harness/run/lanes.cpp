#include "harness/run/lanes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <new>

#include "harness/core/files.hpp"

namespace assay::run {
namespace {

using Clock = std::chrono::steady_clock;
using converters::Outcome;

/// How often limits are looked after.
constexpr std::chrono::milliseconds kWatch{100};
/// A lane that dies so often without having begun anything would never do anything.
constexpr int kMostIdleDeaths = 3;
/// Given to the lanes at the end, to end the converters' programs, which have 5 s each.
constexpr std::chrono::seconds kFarewell{30};

double gib(std::uint64_t bytes) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return static_cast<double>(bytes) / kGib;
}

struct Memory {
  std::uint64_t all = 0, left = 0;
};

/// Of the machine, or of this container where that has less left.
Memory memory_here() {
  Memory machine, container;
  constexpr std::uint64_t kKib = 1024;
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t value = 0; file >> name >> value && std::getline(file, unit);) {
    if (name == "MemTotal:") machine.all = value * kKib;
    if (name == "MemAvailable:") machine.left = value * kKib;
  }
  std::uint64_t used = 0;
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> container.all) ||
      !(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) {
    return machine;
  }
  std::ifstream parts("/sys/fs/cgroup/memory.stat");
  for (std::uint64_t value = 0; parts >> name >> value;) {
    if (name == "inactive_file" || name == "active_file") used -= std::min(used, value);  // given up where needed
  }
  container.left = container.all - std::min(used, container.all);
  return container.left < machine.left ? container : machine;
}

}  // namespace

void Lanes::UnmapSlots::operator()(LaneSlots* slots) const { ::munmap(slots, sizeof(LaneSlots)); }

Lanes::Lanes(std::size_t count, Serve serve) : serve_(std::move(serve)), lanes_(count), watched_(Clock::now()) {}

Lanes::~Lanes() {
  for (Lane& lane : lanes_) {
    if (!lane.process) continue;
    lane.process.reset();
    any_died_ = true;
  }
  if (any_died_) core::sweep_temporary_folders();
}

core::Status Lanes::start(Lane& lane) {
  if (lane.process) return core::success();
  void* memory = ::mmap(nullptr, sizeof(LaneSlots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return core::io_error("no memory is left for the judging's process");
  lane.slots.reset(new (memory) LaneSlots());
  core::Result<core::Forked> process =
      core::Forked::start([this, &slots = *lane.slots](core::Forked::Line& line) { serve_(line, slots); });
  if (!process) return process.error();
  lane.process.emplace(*std::move(process));
  return core::success();
}

core::Result<std::optional<std::vector<LaneDescribed>>> Lanes::described(const std::function<bool()>& stopped) {
  Lane& first = lanes_.front();
  for (int deaths = 0; !stopped();) {
    if (core::Status started = start(first); !started) return started.error();
    pollfd polled{first.process->descriptor(), POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(kWatch.count()));
    for (const std::string& message : first.process->receive()) {
      std::optional<LaneNews> news = read_news(message);
      if (news) return std::optional(std::move(news->described));
    }
    const std::optional<core::ExitState> end = first.process->ended();
    if (!end) continue;
    first = Lane();
    if (++deaths < kMostIdleDeaths) continue;
    return core::Error{core::ErrorKind::internal,
                       fmt::format("the process that asks the converters what they are ended {} times in a row, the "
                                   "last time with {}: a defect of Assay in reading an answer",
                                   deaths, core::exit_text(*end)),
                       "", "", ""};
  }
  return std::optional<std::vector<LaneDescribed>>();
}

/// The lane that has least to do and room for `work`; a running one before one that has to be started.
Lanes::Lane* Lanes::free_lane(const Work& work) {
  // One more than it works at, so that it needn't wait for us; not at the end, where others would wait for work.
  const std::size_t room = kThreadsOfALane + (waiting_.size() > lanes_.size() * kThreadsOfALane ? 1 : 0);
  Lane* found = nullptr;
  for (Lane& lane : lanes_) {
    const bool busy_alone = std::ranges::any_of(lane.orders, [](const auto& each) { return each.second.alone; });
    if (busy_alone || lane.orders.contains(work.item) || lane.orders.size() >= (work.alone ? 1 : room)) continue;
    const auto rank = [](const Lane& of) { return std::pair(of.orders.size(), !of.process.has_value()); };
    if (found == nullptr || rank(lane) < rank(*found)) found = &lane;
  }
  return found;
}

core::Status Lanes::hand_out() {
  while (!waiting_.empty()) {
    Work& work = waiting_.front();
    Lane* lane = free_lane(work);
    if (lane == nullptr) return core::success();
    if (core::Status started = start(*lane); !started) return started;
    LaneOrder order;
    order.item = work.item;
    order.places = work.places;
    lane->orders[work.item] = {{work.places.begin(), work.places.end()}, work.alone};
    waiting_.pop_front();
    (void)lane->process->send(write_message(order));  // where it has ended, bury() puts the order back
  }
  return core::success();
}

core::Status Lanes::step(const JudgeLimits& limits, const Taker& taker) {
  if (core::Status handed = hand_out(); !handed) return handed;
  std::vector<pollfd> polled;
  for (const Lane& lane : lanes_) {
    if (lane.process) polled.push_back({lane.process->descriptor(), POLLIN, 0});
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(kWatch.count()));
  const bool look = Clock::now() - watched_ >= kWatch;
  if (look) {
    watched_ = Clock::now();
    relieve();
  }
  for (Lane& lane : lanes_) {
    if (!lane.process) continue;
    receive(lane, taker);
    if (look && !lane.process->ended()) watch(lane, limits, taker);
    if (lane.process->ended()) bury(lane, limits, taker);
  }
  if (idle_deaths_ < kMostIdleDeaths) return core::success();
  return core::Error{core::ErrorKind::internal,
                     fmt::format("the process that converts and judges ended {} times in a row before it had begun "
                                 "anything, the last time with {}",
                                 idle_deaths_, core::exit_text(*idle_death_)),
                     "", "", ""};
}

void Lanes::receive(Lane& lane, const Taker& taker) {
  for (const std::string& message : lane.process->receive()) {
    std::optional<LaneNews> news = read_news(message);
    const auto order = news ? lane.orders.find(news->item) : lane.orders.end();
    if (order == lane.orders.end()) {  // its memory is damaged
      lane.process->kill();
      return;
    }
    idle_deaths_ = 0;
    const Job job{news->item, news->place};
    if (news->item_done) {
      lane.orders.erase(order);
    } else if (!news->row) {
      lane.begun[job] = Clock::now();
      taker.begun(news->item, news->place);
    } else if (order->second.left.erase(news->place) > 0) {
      lane.begun.erase(job);
      taker.verdict(*std::move(news));
    }
  }
}

std::vector<Lanes::Job> Lanes::under_way(const Lane& lane) const {
  std::vector<Job> jobs;
  for (const auto& [item, order] : lane.orders) {
    for (const std::size_t place : order.left) {
      const std::uint64_t wanted = slot_job(item, place);
      if (std::ranges::any_of(lane.slots->slots, [&](const auto& slot) { return slot.job == wanted; })) {
        jobs.emplace_back(item, place);
      }
    }
  }
  return jobs;
}

void Lanes::fell(Lane& lane, Job job, Outcome outcome, std::string reason, const Taker& taker) {
  Fall fall{job.first, job.second, outcome, std::move(reason)};
  if (const auto begun = lane.begun.find(job); begun != lane.begun.end()) {
    fall.seconds = std::chrono::duration<double>(Clock::now() - begun->second).count();
  }
  lane.orders.at(job.first).left.erase(job.second);
  taker.fell(fall);
}

/// Kills the lane where one of its verdicts takes more than it may.
void Lanes::watch(Lane& lane, const JudgeLimits& limits, const Taker& taker) {
  ::kill(lane.process->pid(), SIGCONT);  // a converter may have stopped what waits for it
  const auto longest = static_cast<std::int64_t>(limits.timeout_s * 1e9);
  for (const auto& slot : lane.slots->slots) {
    const std::uint64_t job = slot.job;
    const std::int64_t since = slot.since;
    if (job == 0 || since == 0 || steady_now_ns() - since <= longest || slot.job != job) continue;
    const std::vector<Job> jobs = under_way(lane);
    const auto overdue =
        std::ranges::find_if(jobs, [&](const Job& each) { return slot_job(each.first, each.second) == job; });
    if (overdue == jobs.end()) continue;
    const Job late = *overdue;
    lane.killed = Killed::late;
    lane.process->kill();
    fell(lane, late, Outcome::timeout,
         fmt::format("judging had no end within {:g} s (--judge-timeout) and was stopped: what the converter made is "
                     "beyond what Assay can judge in that time, which says nothing of whether it is right",
                     limits.timeout_s),
         taker);
    return;
  }
  if (lane.process->memory() > limits.memory_bytes) {
    lane.killed = Killed::for_memory;
    lane.process->kill();
  }
}

/// Where the machine has next to no memory left, the system would kill whatever it likes: the largest lane is killed
/// before that, unless others hold the memory.
void Lanes::relieve() {
  constexpr std::uint64_t kReserve = 20, kWorthwhile = 4;
  const Memory memory = memory_here();
  if (memory.left >= memory.all / kReserve) return;
  Lane* largest = nullptr;
  std::uint64_t most = memory.all / kWorthwhile / lanes_.size();
  for (Lane& lane : lanes_) {
    const std::uint64_t held = lane.process && !lane.process->ended() ? lane.process->memory() : 0;
    if (held <= most) continue;
    most = held;
    largest = &lane;
  }
  if (largest == nullptr) return;
  largest->killed = Killed::for_machine;
  largest->process->kill();
}

/// Puts back what a dead lane was at. What was under way is tried again, each verdict by itself; one that was so and
/// ends its lane again has that for a verdict.
void Lanes::bury(Lane& lane, const JudgeLimits& limits, const Taker& taker) {
  any_died_ = true;
  const core::ExitState end = *lane.process->ended();
  const Killed killed = std::exchange(lane.killed, Killed::no);
  const std::vector<Job> jobs = under_way(lane);
  if (jobs.empty() && killed == Killed::no) {
    idle_death_ = end;
    ++idle_deaths_;
  }
  for (const Job& job : jobs) {
    if (killed == Killed::late) continue;  // another one was, and has its verdict
    if (++deaths_[job] < 2 || jobs.size() > 1) continue;
    if (killed == Killed::for_machine) {
      fell(lane, job, Outcome::oom,
           "judging was stopped, twice, because the machine had no memory left and this process held most: nothing is "
           "said of the converter",
           taker);
      continue;
    }
    if (killed == Killed::for_memory) {
      fell(lane, job, Outcome::oom,
           fmt::format("judging took more than {:.3g} GiB of memory (--judge-memory) and was stopped, twice: what the "
                       "converter made is beyond what Assay can judge in that memory, which says nothing of whether it "
                       "is right",
                       gib(limits.memory_bytes)),
           taker);
      continue;
    }
    const bool foreign = end.signal == SIGKILL;
    fell(lane, job, Outcome::crash,
         fmt::format("Assay's own process that judges ended with {}, twice, the second time with nothing else under "
                     "way: {}; nothing is said of the converter",
                     core::exit_text(end),
                     foreign ? "the system had no memory left for it, or somebody killed it"
                             : "a defect of Assay, please report it with the case and the artifact"),
         taker);
  }
  for (auto order = lane.orders.rbegin(); order != lane.orders.rend(); ++order) {
    const auto& [item, rest] = *order;
    if (rest.left.empty()) continue;
    const bool alone = std::ranges::any_of(rest.left, [&, number = item](const std::size_t place) {
      return deaths_.contains({number, place});
    });
    waiting_.push_front({item, {rest.left.begin(), rest.left.end()}, alone});
  }
  lane = Lane();
}

bool Lanes::done() const {
  return waiting_.empty() && std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.orders.empty(); });
}

void Lanes::dismiss() {
  for (Lane& lane : lanes_) {
    if (lane.process) lane.process->send_no_more();
  }
  const auto deadline = Clock::now() + kFarewell;
  for (Lane& lane : lanes_) {
    while (lane.process && !lane.process->ended() && Clock::now() < deadline) {
      pollfd news{lane.process->descriptor(), POLLIN, 0};
      ::poll(&news, 1, static_cast<int>(kWatch.count()));
      (void)lane.process->receive();
    }
    if (lane.process && lane.process->ended()) lane = Lane();
  }
}

JudgeLimits judge_limits(const RunConfig& config) {
  constexpr double kOfOneAnswer = 10;  // judging follows every node many times; the converter has done it once
  return {config.judge_timeout_s > 0 ? config.judge_timeout_s : kOfOneAnswer * config.timeout_s,
          config.judge_memory_bytes > 0 ? config.judge_memory_bytes : memory_here().all / 5 * 4};
}

}  // namespace assay::run
