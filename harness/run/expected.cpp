#include "harness/run/expected.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <regex>

#include "harness/core/text.hpp"

namespace assay::run {
namespace {

using judge::Verdict;

constexpr double kWorseThanRecorded = 2;  // DESIGN section 3: more than twice the recorded margin counts as worse

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now())); }

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return pattern.empty() || core::glob_match(pattern, text);
}

/// "1.15.1,1.16.*" lists versions as patterns.
bool matches_versions(const std::string& versions, const std::string& version) {
  std::size_t begin = 0;
  while (begin <= versions.size()) {
    const std::size_t end = std::min(versions.find(',', begin), versions.size());
    if (matches_pattern(versions.substr(begin, end - begin), version)) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

bool reason_matches(const std::string& pattern, const std::string& reason) {
  try {
    return pattern.empty() || std::regex_search(reason, std::regex(pattern));
  } catch (const std::regex_error&) {
    return false;
  }
}

bool same_failure(const corpus::ExpectedFailure& entry, const judge::Judgement& judgement) {
  const std::string facet = judgement.facet ? std::string(judge::facet_name(*judgement.facet)) : "";
  return (entry.stage.empty() || entry.stage == judge::stage_name(judgement.stage)) &&
         (entry.facet.empty() || entry.facet == facet) && reason_matches(entry.reason, judgement.reason);
}

bool is_worse(const corpus::ExpectedFailure& entry, const judge::Judgement& judgement) {
  return entry.margin && judgement.margin && !(*judgement.margin <= kWorseThanRecorded * *entry.margin);
}

}  // namespace

bool concerns(const corpus::ExpectedFailure& entry, const std::string& converter, const std::string& version) {
  return matches_pattern(entry.converter, converter) && matches_versions(entry.versions, version);
}

ExpectedFailures::ExpectedFailures(std::vector<corpus::ExpectedFailure> entries) {
  for (corpus::ExpectedFailure& entry : entries) {
    const bool expired = !entry.until.empty() && entry.until < today();
    entries_.push_back({std::move(entry), false, expired});
  }
}

void ExpectedFailures::apply(const results::JobKey& key, judge::Judgement& judgement) {
  if (judgement.verdict == Verdict::unsupported) {  // of a group of stored cases that is not there: none can be met
    for (Entry& entry : entries_) {
      entry.used |= entry.failure.case_pattern.starts_with(key.case_name + ",");
    }
  }
  for (Entry& entry : entries_) {
    const corpus::ExpectedFailure& failure = entry.failure;
    if (entry.expired || !matches_pattern(failure.case_pattern, key.case_name) ||
        !matches_pattern(failure.options, key.options) || !concerns(failure, key.converter, key.version)) {
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
      default:
        continue;  // neutral verdicts and our own faults neither use nor need an expectation
    }
    entry.used = true;
    judgement.gate = judge::default_gate(judgement.verdict);
    return;
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

}  // namespace assay::run
