#include "harness/suites/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/suites/expected.hpp"

namespace assay::suites {
namespace {

using corpus::ExpectedFailure;

bool known_converter(const corpus::Suite& suite, const std::string& pattern) {
  std::vector<std::string> names = suite.converters;
  names.insert(names.end(), {"embedded", "embedded:scales", "embedded:opaque", corpus::kReference});
  for (const programs::Adapter& adapter : programs::list_adapters()) {
    names.push_back(adapter.name);
    for (const auto& [variant, what] : adapter.variants) names.push_back(adapter.name + ":" + variant);
  }
  // The variants of the embedded converter, which `score` runs, are named embedded+VARIANT@KIND.
  return pattern.starts_with("embedded+") ||
         std::ranges::any_of(names, [&](const std::string& name) { return core::any_glob_match(pattern, name); });
}

/// What the entry's own words say.
std::vector<std::string> faults_of(const corpus::Suite& suite, const ExpectedFailure& entry) {
  std::vector<std::string> faults;
  if (!entry.url.starts_with("http://") && !entry.url.starts_with("https://")) {
    faults.emplace_back("url: says nowhere why this is expected");
  }
  if (!entry.stage.empty() && !judge::parse_stage(entry.stage)) {
    faults.push_back(fmt::format("stage: there is none called \"{}\"", entry.stage));
  }
  if (!entry.facet.empty() && !judge::parse_facet(entry.facet)) {
    faults.push_back(fmt::format("facet: there is none called \"{}\"", entry.facet));
  }
  if (has_expired(entry)) {
    faults.push_back(fmt::format("until: {} is over; look again whether it still fails", entry.until));
  }
  if (!known_converter(suite, entry.converter)) {
    faults.push_back(fmt::format("converter: none is called \"{}\"; see {} converters list", entry.converter,
                                 corpus::command_word()));
  }
  const auto named = [&](const corpus::OptionSet& set) { return core::any_glob_match(entry.options, set.label); };
  // What a case states of another variant may be about another suite's option set.
  const auto judged = [&](const std::string& name) { return core::any_glob_match(entry.converter, name); };
  const bool of_this_suite = entry.family.empty() || std::ranges::any_of(suite.converters, judged);
  if (of_this_suite && !entry.options.empty() && std::ranges::none_of(suite.option_sets, named)) {
    faults.push_back(fmt::format("options: the suite has no option set \"{}\"", entry.options));
  }
  return faults;
}

}  // namespace

std::vector<std::string> lint(const corpus::Suite& suite, const std::vector<corpus::Case>& selected) {
  std::vector<std::string> lines;
  // Of each converter and range of versions, what earlier entries speak of: the first that does is the one that counts.
  std::map<std::pair<std::string, std::string>, std::set<std::pair<std::string, std::string>>> taken;
  for (std::size_t i = 0; i < suite.expected_failures.size(); ++i) {
    const ExpectedFailure& entry = suite.expected_failures[i];
    const auto states = [&](const corpus::Case& test_case) { return test_case.family == entry.family; };
    if (!entry.family.empty() && std::ranges::none_of(selected, states)) continue;  // another suite's case
    const auto complain = [&](const std::string& fault) {
      lines.push_back(fmt::format("expected_failures[{}] (\"{}\"): {}", i, entry.case_pattern, fault));
    };
    std::ranges::for_each(faults_of(suite, entry), complain);
    auto& earlier = taken[{entry.converter, entry.versions}];
    std::size_t cases = 0, added = 0, sets = 0;
    for (const corpus::Case& test_case : selected) {
      if (!core::glob_match(entry.case_pattern, test_case.name)) {
        continue;
      }
      ++cases;
      for (const corpus::OptionSet& set : suite.option_sets) {
        if (core::any_glob_match(entry.options, set.label)) {
          ++sets;
          added += earlier.emplace(test_case.name, set.label).second ? 1U : 0U;
        }
      }
    }
    // Of a group of stored cases that is not on this machine nobody can tell.
    const bool away = std::ranges::any_of(selected, [&](const corpus::Case& test_case) {
      return !test_case.unavailable.empty() && entry.case_pattern.starts_with(test_case.name + ",");
    });
    if (cases == 0 && !away) {
      complain("case: matches none of the suite's cases");
    } else if (sets > 0 && added == 0) {
      complain("earlier entries speak of all that it does");
    }
  }
  return lines;
}

}  // namespace assay::suites
