#include "harness/suites/expected.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>

#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "harness/corpus/pattern.hpp"
#include "harness/judge/evidence/verdict_margin.hpp"

namespace assay::suites {
namespace {

using judge::Verdict;

constexpr double kWorseThanRecorded = 2;  // more than twice the recorded margin counts as worse

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now())); }

bool reason_matches(const std::string& pattern, const std::string& reason) {
  if (pattern.empty()) return true;
  const core::Result<corpus::Pattern> parsed = corpus::Pattern::parse(pattern);
  return parsed && parsed->found_in(reason);
}

bool same_failure(const corpus::ExpectedFailure& entry, const judge::Judgement& judgement) {
  const std::string facet = judgement.facet ? std::string(judge::facet_name(*judgement.facet)) : "";
  return (entry.stage.empty() || entry.stage == judge::stage_name(judgement.stage)) &&
         (entry.facet.empty() || entry.facet == facet) && reason_matches(entry.reason, judgement.reason);
}

bool is_worse(const corpus::ExpectedFailure& entry, const judge::Judgement& judgement) {
  const std::optional<double> margin = judge::verdict_margin(judgement);
  return entry.margin && margin && !(*margin <= kWorseThanRecorded * *entry.margin);
}

}  // namespace

bool concerns(const corpus::ExpectedFailure& entry, const std::string& converter, const std::string& version) {
  return core::any_glob_match(entry.converter, converter) && core::version_within(entry.versions, version);
}

namespace {

/// What a file of cases states holds in every suite that reads it, and is asked for in those that hold one of its
/// cases.
bool is_asked_for(const corpus::ExpectedFailure& entry, const results::JobKey& key) {
  return entry.family.empty() || key.case_name == entry.family || key.case_name.starts_with(entry.family + "/");
}

bool speaks_of(const corpus::ExpectedFailure& entry, const results::JobKey& key) {
  return (entry.case_pattern.empty() || core::glob_match(entry.case_pattern, key.case_name)) &&
         core::any_glob_match(entry.options, key.options) && concerns(entry, key.converter, key.version);
}

}  // namespace

bool holds_on(const corpus::ExpectedFailure& entry, const results::Machine& machine) {
  if (entry.machine.empty()) return true;
  std::vector<std::string> words;
  // Of several machines the lists are joined by "; ".
  const auto add = [&](const std::string& list, std::string_view separators) {
    for (std::size_t begin = 0; begin < list.size();) {
      begin = std::min(list.find_first_not_of(' ', begin), list.size());
      const std::size_t end = std::min(list.find_first_of(separators, begin), list.size());
      std::string word = list.substr(begin, end - begin);
      std::ranges::replace(word, ' ', '_');
      if (!word.empty()) words.push_back(std::move(word));
      begin = end + 1;
    }
  };
  add(machine.features, ",;");
  add(machine.accelerators, ";");
  return core::any_glob_match(entry.machine, words);
}

bool has_expired(const corpus::ExpectedFailure& entry) { return !entry.until.empty() && entry.until < today(); }

std::vector<corpus::ExpectedFailure> of_a_run(std::vector<corpus::ExpectedFailure> entries,
                                              std::span<const results::JobKey> planned, bool whole) {
  std::erase_if(entries, [&](const corpus::ExpectedFailure& entry) {
    return std::ranges::none_of(planned, [&](const results::JobKey& key) {
      return whole ? is_asked_for(entry, key) && concerns(entry, key.converter, key.version) : speaks_of(entry, key);
    });
  });
  return entries;
}

namespace {

/// This machine, as far as one of the entries asks: to know it may mean to ask a driver.
results::Machine asked_machine(const std::vector<corpus::ExpectedFailure>& entries) {
  const bool asked = std::ranges::any_of(entries, [](const auto& entry) { return !entry.machine.empty(); });
  return asked ? results::this_machine() : results::Machine();
}

}  // namespace

ExpectedFailures::ExpectedFailures(const std::vector<corpus::ExpectedFailure>& entries, bool whole)
    : ExpectedFailures(entries, whole, asked_machine(entries)) {}

ExpectedFailures::ExpectedFailures(std::vector<corpus::ExpectedFailure> entries, bool whole,
                                   const results::Machine& machine)
    : whole_(whole) {
  std::erase_if(entries, [&](const corpus::ExpectedFailure& entry) { return !holds_on(entry, machine); });
  for (corpus::ExpectedFailure& entry : entries) {
    const bool expired = has_expired(entry);
    entries_.push_back({std::move(entry), false, expired});
  }
}

const corpus::ExpectedFailure* ExpectedFailures::apply(const results::JobKey& key, judge::Judgement& judgement) {
  if (judgement.verdict == Verdict::unsupported) {  // of a group of stored cases that is not there: none can be met
    for (Entry& entry : entries_) {
      entry.used |= entry.failure.case_pattern.starts_with(key.case_name + ",");
    }
  }
  for (Entry& entry : entries_) {
    const corpus::ExpectedFailure& failure = entry.failure;
    if (entry.expired || !speaks_of(failure, key)) {
      continue;
    }
    switch (judgement.verdict) {
      case Verdict::pass:
        judgement.verdict = Verdict::xpass;
        judgement.reason =
            fmt::format("passes, but is listed as an expected failure ({}); remove the entry", failure.url);
        break;
      case Verdict::fail:
      case Verdict::not_quantized:
      case Verdict::refused:
        judgement.verdict =
            same_failure(failure, judgement) && !is_worse(failure, judgement) ? Verdict::xfail : Verdict::xfail_changed;
        break;
      case Verdict::crash:
      case Verdict::timeout:
      case Verdict::oom:
        if (!failure.reason.empty() && same_failure(failure, judgement) && failure.facet.empty()) {
          judgement.verdict = Verdict::xfail;
        }
        break;
      default:  // neutral verdicts and our own faults neither use nor need an expectation
        entry.used |= !whole_;
        continue;
    }
    entry.used = true;
    judgement.gate = judge::default_gate(judgement.verdict);
    return &failure;
  }
  return nullptr;
}

std::vector<std::size_t> ExpectedFailures::met() const {
  std::vector<std::size_t> entries;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].used) entries.push_back(index);
  }
  return entries;
}

void ExpectedFailures::meet(std::span<const std::size_t> entries) {
  for (const std::size_t index : entries) {
    if (index < entries_.size()) entries_[index].used = true;
  }
}

void ExpectedFailures::recall(const results::JobKey& key, std::string_view verdict) {
  if (!verdict.starts_with("x")) {
    return;  // xfail, xfail-changed, xpass
  }
  for (Entry& entry : entries_) {
    if (!entry.expired && speaks_of(entry.failure, key)) {
      entry.used = true;
      return;
    }
  }
}

std::vector<std::string> ExpectedFailures::unused() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    if (entry.expired) {
      lines.push_back(fmt::format("expected failure of \"{}\" expired on {}: {}", entry.failure.case_pattern,
                                  entry.failure.until, entry.failure.url));
    } else if (!entry.used) {
      lines.push_back(fmt::format("expected failure of \"{}\" was met by no verdict: {}", entry.failure.case_pattern,
                                  entry.failure.url));
    }
  }
  return lines;
}

}  // namespace assay::suites
