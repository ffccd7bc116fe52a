#include "harness/run/lane.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "harness/conformance/conform.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/programs/workers.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/lane_messages.hpp"
#include "harness/run/result_row.hpp"
#include "harness/run/run_plan.hpp"
#include "harness/run/trial.hpp"

namespace assay::run {

std::int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

programs::ClientLimits client_limits(const RunConfig& config) { return {config.timeout_s, config.memory_limit_bytes}; }

namespace {

using judge::Verdict;

/// A turn at a worker that says in a slot when this thread computes by itself and when it waits for the converter.
class WatchedTurn final : public converters::Converter {
 public:
  WatchedTurn(programs::Turn& turn, LaneSlots::Slot& slot) : turn_(turn), slot_(slot) { slot_.since = steady_now_ns(); }
  WatchedTurn(const WatchedTurn&) = delete;
  WatchedTurn& operator=(const WatchedTurn&) = delete;
  ~WatchedTurn() override { slot_.since = 0; }

  core::Result<converters::Description> describe() override { return turn_.describe(); }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    const Waiting waiting(slot_);
    return turn_.convert(request);
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    const Waiting waiting(slot_);
    return turn_.execute(request);
  }
  void pass_on() { turn_.pass_on(); }

 private:
  struct Waiting {
    explicit Waiting(LaneSlots::Slot& of) : slot(of) { slot.since = 0; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { slot.since = steady_now_ns(); }
    LaneSlots::Slot& slot;
  };

  programs::Turn& turn_;
  LaneSlots::Slot& slot_;
};

judge::Judgement plain_judgement(Verdict verdict, std::string reason) {
  judge::Judgement judgement;
  judgement.verdict = verdict;
  judgement.gate = judge::default_gate(verdict);
  judgement.stage = judge::Stage::convert;
  judgement.reason = std::move(reason);
  return judgement;
}

/// The reference on a stored case.
Evaluation conform(const std::filesystem::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation evaluation;
  evaluation.judgement = conformance::conform(folder).judgement;
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return evaluation;
}

/// One case on its way through the converters. Each has files of its own, so that none meets another's traces; they
/// share the reference's results.
class ItemRun {
 public:
  ItemRun(const RunConfig& config, const RunItem& item, std::size_t planned_verdicts)
      : config_(config), item_(item), planned_verdicts_(planned_verdicts) {}

  /// Never fails: what goes wrong is the verdict.
  [[nodiscard]] Evaluation evaluate(WatchedTurn& turn, const programs::Subject& subject, const corpus::OptionSet& set) {
    const corpus::Case& test_case = item_.test_case;
    const std::string& unavailable = test_case.unavailable.empty() ? subject.spec.unavailable : test_case.unavailable;
    Evaluation evaluation;
    if (!unavailable.empty()) {
      evaluation.judgement = plain_judgement(Verdict::unsupported, unavailable);
      return evaluation;
    }
    try {
      if (test_case.stored_case) {
        return conform(*test_case.stored_case);
      }
      if (!subject.broken.empty()) {
        const auto fallen = programs::fallen(subject.broken_as, judge::Stage::convert, subject.broken);
        evaluation.judgement = fallen.value_or(plain_judgement(Verdict::crash, subject.broken));
        return evaluation;
      }
      if (const core::Status status = prepare(subject); !status) {
        evaluation.judgement = own_fault(status.error());
        return evaluation;
      }
      return ask_and_judge(turn, subject, set);
    } catch (const std::bad_alloc&) {
      evaluation.judgement = without_memory();
    } catch (const std::length_error&) {  // more elements than any memory has
      evaluation.judgement = without_memory();
    } catch (const std::exception& error) {
      evaluation.judgement = plain_judgement(
          Verdict::crash, fmt::format("Assay itself failed while it judged: {}: a defect of Assay, please report it "
                                      "with the case and the artifact; nothing is said of the converter",
                                      error.what()));
    }
    bench_.reset();  // in what state nobody knows
    evaluation.judgement.stage = judge::Stage::judge;
    return evaluation;
  }

 private:
  static judge::Judgement without_memory() {
    return plain_judgement(Verdict::oom,
                           "this program had no memory left for what the converter made, or for judging it");
  }
  /// Makes the files of `subject`.
  [[nodiscard]] core::Status prepare(const programs::Subject& subject) {
    if (bench_ != nullptr && owner_ == &subject) {
      return core::success();
    }
    core::Result<std::unique_ptr<CaseBench>> made = CaseBench::create(item_.test_case, item_.data, bench_.get());
    if (!made) {
      return made.error();
    }
    bench_ = *std::move(made);
    owner_ = &subject;
    bench_->set_depth(config_.every_node ? judge::Depth::every_node : judge::Depth::full);
    bench_->keep_detail(config_.detail);
    // A case of ours is made to be judged; a published network is as it is, and 8 bits may leave nothing of it.
    const bool ours = config_.own_corpus && subject.spec.is_embedded() && !item_.test_case.remote;
    bench_->require_judged(config_.require_judged || ours);
    return core::success();
  }

  [[nodiscard]] Evaluation ask_and_judge(WatchedTurn& turn, const programs::Subject& subject,
                                         const corpus::OptionSet& set) {
    if (config_.audit) {
      return bench_->audit(subject.description, config_.artifact, *config_.audit, set.options_json, planned_verdicts_);
    }
    if (subject.executor != nullptr) {
      return bench_->evaluate_artifact(*subject.executor, subject.description, config_.artifact, set.options_json,
                                       planned_verdicts_, config_.made_by);
    }
    return bench_->evaluate(turn, subject.description, set.options_json, planned_verdicts_,
                            [&turn] { turn.pass_on(); });
  }

  const RunConfig& config_;
  const RunItem& item_;
  std::size_t planned_verdicts_;
  std::unique_ptr<CaseBench> bench_;
  const programs::Subject* owner_ = nullptr;  ///< of bench_
};

class Lane {
 public:
  Lane(const RunConfig& config, std::vector<programs::Subject>& subjects, suites::ExpectedFailures& expected,
       std::size_t planned_verdicts, core::Forked::Line& line, LaneSlots& slots)
      : config_(config),
        subjects_(subjects),
        workers_(1, clients_of(subjects)),
        expected_(expected),
        planned_verdicts_(planned_verdicts),
        limits_(client_limits(config)),
        line_(line),
        slots_(slots) {}

  void work() {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < kThreadsOfALane; ++thread) {
      others.emplace_back([this, thread] { obey(slots_.slots[thread]); });
    }
    obey(slots_.slots[0]);
  }

 private:
  static std::vector<std::unique_ptr<protocol::Client>> clients_of(std::vector<programs::Subject>& subjects) {
    std::vector<std::unique_ptr<protocol::Client>> clients;
    clients.reserve(subjects.size());
    for (programs::Subject& subject : subjects) clients.push_back(std::move(subject.client));
    return clients;
  }

  /// An exception ends the lane: out of one thread it would leave the others waiting for orders for good.
  void obey(LaneSlots::Slot& slot) noexcept {
    while (const std::optional<std::string> message = line_.receive()) {
      const std::optional<LaneOrder> order = read_order(*message);
      if (!order) return;
      run_item(*order, slot);
      LaneNews done;
      done.item = order->item;
      done.item_done = true;
      line_.send(write_message(done));
    }
  }

  /// All but the judging of what was converted is done in a turn at the worker.
  void run_item(const LaneOrder& order, LaneSlots::Slot& slot) {
    const RunItem& item = config_.items[order.item];
    ItemRun run(config_, item, planned_verdicts_);
    for (const std::size_t number : order.places) {
      const Place place = place_of(item, number);
      const programs::Subject& subject = subjects_[place.subject];
      const corpus::OptionSet& set = item.option_sets[place.set];
      programs::Turn turn(workers_, place.subject, subject, limits_);
      LaneNews news;
      news.item = order.item;
      news.place = number;
      slot.job = slot_job(order.item, number);
      line_.send(write_message(news));
      Evaluation evaluation;
      {
        WatchedTurn watched(turn, slot);
        evaluation = run.evaluate(watched, subject, set);
        report(key_of(item.test_case, set, subject), item.test_case, std::move(evaluation), turn.attempts(), news);
      }
      slot.job = 0;
    }
  }

  void report(const results::JobKey& key, const corpus::Case& test_case, Evaluation evaluation,
              const std::vector<protocol::Attempt>& attempts, LaneNews& news) {
    const corpus::ExpectedFailure* expected = nullptr;
    {
      const std::lock_guard lock(expecting_);
      expected = expected_.apply(key, evaluation.judgement);
      std::vector<std::size_t> met = expected_.met();
      if (std::exchange(told_, met.size()) != met.size()) news.met_expectations = std::move(met);
    }
    news.row = result_row(key, test_case, evaluation, attempts, expected);
    line_.send(write_message(news));
  }

  const RunConfig& config_;
  std::vector<programs::Subject>& subjects_;
  programs::Workers workers_;
  std::mutex expecting_;
  suites::ExpectedFailures& expected_;
  std::size_t planned_verdicts_;
  programs::ClientLimits limits_;
  std::size_t told_ = 0;  ///< expectations that the main process knows of
  core::Forked::Line& line_;
  LaneSlots& slots_;
};

}  // namespace

void serve_lane(const RunConfig& config, std::vector<programs::Subject>& subjects, suites::ExpectedFailures& expected,
                std::size_t planned_verdicts, core::Forked::Line& line, LaneSlots& slots) {
  Lane(config, subjects, expected, planned_verdicts, line, slots).work();
}

}  // namespace assay::run
