#include "harness/fuzz/hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "harness/localize/criterion.hpp"
#include "harness/localize/reduce.hpp"
#include "harness/run/parallel.hpp"
#include "results/cause.hpp"

namespace assay::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using localize::Judge;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// More verdicts than a thread gives in a minute: what a hunt by the clock is planned for, and where it ends.
constexpr double kVerdictsPerMinute = 20000;

/// Whoever is asked for an operator in INT8 may decline it by its name, since many have forms without one. A sum or
/// product of two tensors and a Concat have one form alone.
bool may_decline(const Sample& sample, const judge::Judgement& judgement) {
  constexpr std::array<std::string_view, 4> kOneForm{"Add", "Sub", "Mul", "Concat"};
  if (std::ranges::find(kOneForm, judgement.op) != kOneForm.end()) return false;
  const core::Result<converters::Options> options = converters::options_from_json(sample.options_json);
  if (!options) return false;
  return std::ranges::any_of(std::array{judgement.op, judgement.node}, [&](const std::string& key) {
    const auto asked = options->precision.find(key);
    return !key.empty() && asked != options->precision.end() && asked->second == "int8";
  });
}

class Hunt {
 public:
  Hunt(const HuntOptions& options, const Listener& listener) : options_(options), listener_(listener) {}

  core::Status prepare(const programs::ConverterSpec& spec) {
    const std::size_t jobs = run::thread_count(options_.jobs);
    planned_ = options_.graphs.value_or(
        static_cast<std::uint64_t>(kVerdictsPerMinute * options_.minutes * static_cast<double>(jobs)) + 1);
    for (std::size_t i = 0; i < std::min<std::uint64_t>(jobs, planned_); ++i) {
      core::Result<std::unique_ptr<Judge>> judge = Judge::make(spec, "{}", options_.timeout_s, planned_);
      if (!judge) return judge.error();
      judges_.push_back(*std::move(judge));
    }
    const converters::Description& description = judges_.front()->description();
    plan_ = {options_.seed, drawn_operators(description.supports), options_.options_json, description.supports};
    hunted_.converter = description.name;
    hunted_.version = description.version;
    if (plan_.operators.empty()) {
      return core::Error{
          core::ErrorKind::usage, "the converter declares none of the operators that are drawn", {}, {}, {}};
    }
    return core::success();
  }

  void search() {
    begin_ = Clock::now();
    run::for_each_index(judges_.size(), static_cast<int>(judges_.size()), [&](std::size_t thread) {
      for (std::uint64_t i = next_++; i < planned_ && !enough(); i = next_++)
        look_at(options_.first + i, *judges_[thread]);
    });
    hunted_.tally.seconds = seconds_since(begin_);
    std::ranges::sort(hunted_.finds, {}, &Find::first_index);
  }

  void reduce() {
    std::atomic<std::size_t> next = 0;
    run::for_each_index(judges_.size(), static_cast<int>(judges_.size()), [&](std::size_t thread) {
      for (std::size_t i = next++; i < hunted_.finds.size(); i = next++) {
        reduce_one(hunted_.finds[i], judges_[thread]);
        const std::lock_guard lock(mutex_);
        if (listener_.on_reduced) listener_.on_reduced(hunted_.finds[i]);
      }
    });
  }

  Hunted take() { return std::move(hunted_); }

 private:
  [[nodiscard]] bool stopped() const { return options_.stops && options_.stops() > 0; }

  [[nodiscard]] bool enough() {
    if (stopped()) return true;
    if (!options_.graphs && seconds_since(begin_) >= options_.minutes * 60) return true;
    const std::lock_guard lock(mutex_);
    return options_.stop_after > 0 && hunted_.finds.size() >= options_.stop_after;
  }

  void look_at(std::uint64_t index, Judge& judge) {
    core::Result<Sample> drawn = sample(plan_, index);
    if (!drawn) {
      const bool odd = drawn.error().kind != core::ErrorKind::invalid_data;
      count(odd ? "invalid" : "discarded", [&] {
        if (odd) hunted_.invalid.push_back(fmt::format("{}: {}", index, drawn.error().message));
      });
      return;
    }
    judge.use_options(drawn->options_json);
    judge::Judgement judgement = judge.judge(drawn->candidate, judge::Depth::gate);
    const std::string verdict(judge::verdict_name(judgement.verdict));
    const bool declined = judgement.verdict == judge::Verdict::refused && may_decline(*drawn, judgement);
    const bool own = judgement.verdict == judge::Verdict::mistrusted || declined;
    if (own || judgement.gate != judge::Gate::red) {
      return count(verdict, [&] {
        if (judgement.verdict != judge::Verdict::unsupported) return;
        const std::string first = judgement.reason.substr(0, judgement.reason.find('\n'));
        ++hunted_.tally.unsupported[results::without_names(first)];
      });
    }
    Find red;
    red.signature = localize::signature_of(judgement);
    red.judgement = std::move(judgement);
    red.first_index = red.kept_index = index;
    red.nodes = drawn->candidate.nodes();
    red.bytes = drawn->candidate.bytes();
    red.sample = *std::move(drawn);
    count(verdict, [&] {
      const Find copy = red;
      if (add(hunted_.finds, std::move(red)) && listener_.on_find) listener_.on_find(copy);
    });
  }

  template <typename Also>
  void count(const std::string& verdict, const Also& also) {
    const std::lock_guard lock(mutex_);
    ++hunted_.tally.samples;
    ++hunted_.tally.verdicts[verdict];
    hunted_.tally.seconds = seconds_since(begin_);
    also();
    if (listener_.on_sample) listener_.on_sample(hunted_.tally, hunted_.finds.size());
  }

  void reduce_one(Find& find, const std::shared_ptr<Judge>& judge) const {
    if (stopped()) {
      find.trouble = "the hunt was ended before";
      return;
    }
    const Clock::time_point begin = Clock::now();
    judge->use_options(find.sample.options_json);
    const localize::Criterion same = localize::same_signature(judge, find.signature);
    const localize::Criterion in_time = [&](const localize::Candidate& candidate) {
      return seconds_since(begin) < options_.reduce_s && !stopped() && same(candidate);
    };
    localize::Trials trials({in_time}, {});
    const core::Result<localize::Candidate> least =
        localize::reduce(find.sample.candidate, localize::suspects_of(find.judgement), trials);
    if (least) {
      find.sample.candidate = *least;
    } else {
      find.trouble = least.error().message;
    }
    find.judgement = judge->judge(find.sample.candidate, judge::Depth::gate);
    find.checks = trials.checks();
    find.seconds = seconds_since(begin);
  }

  const HuntOptions& options_;
  const Listener& listener_;
  Plan plan_;
  std::uint64_t planned_ = 0;
  std::vector<std::shared_ptr<Judge>> judges_;  ///< one for each thread
  Clock::time_point begin_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;  ///< of what follows
  Hunted hunted_;
};

}  // namespace

core::Result<Hunted> hunt(const programs::ConverterSpec& converter, const HuntOptions& options,
                          const Listener& listener) {
  Hunt hunt(options, listener);
  if (const core::Status ready = hunt.prepare(converter); !ready) return ready.error();
  hunt.search();
  hunt.reduce();
  return hunt.take();
}

}  // namespace assay::fuzz
