#include "harness/suites/draft_expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/core/quoted.hpp"
#include "harness/core/version.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "results/signature.hpp"

namespace assay::suites {
namespace {

using results::ResultRow;

using Words = std::set<std::string>;

/// Not those that an entry speaks of already, and not our own faults.
const Words kDraftable{"fail", "not-quantized", "refused", "crash", "timeout", "oom"};

using Versions = std::set<std::string, core::VersionLess>;

/// What fails alike.
struct Failure {
  std::string converter, stage, facet, reason;
  friend auto operator<=>(const Failure&, const Failure&) = default;  // NOLINT(modernize-use-nullptr): sees a 0 in it
};

/// The first line as a regular expression: numbers, quoted names and paths may be others.
std::string reason_pattern(std::string_view message) {
  constexpr std::size_t kLongest = 160;
  const std::string line = results::without_numbers_and_paths(message.substr(0, message.find('\n')));
  std::string pattern;
  for (std::size_t i = 0; i < line.size() && pattern.size() < kLongest; ++i) {
    const std::string_view rest = std::string_view(line).substr(i);
    const std::size_t quote = line[i] == '"' ? core::end_of_quotes(line, i) : std::string::npos;
    if (rest.starts_with("<path>")) {
      pattern += R"(\S+)";
      i += std::string_view("<path>").size() - 1;
    } else if (line[i] == '#') {
      pattern += "[-+0-9.eEx, ]+";
    } else if (quote != std::string::npos) {
      pattern += line.find('"', i + 1) == quote ? R"("[^"]*")" : R"("([^"\\]|\\.)*")";
      i = quote;
    } else {
      if (std::string_view(R"(.^$|()[]{}*+?\)").find(line[i]) != std::string_view::npos) pattern += '\\';
      pattern += line[i];
    }
  }
  return pattern;
}

/// `some` of `all` versions as ranges; empty where it is all of them.
std::string ranges_of(const Versions& some, const Versions& all) {
  if (some.size() == all.size()) return {};
  std::vector<std::string> ranges;
  for (auto each = all.begin(); each != all.end();) {
    const auto gap = std::find_if(each, all.end(), [&](const std::string& version) { return !some.contains(version); });
    if (each != gap) {
      const std::string& last = *std::prev(gap);
      if (*each == last) {
        ranges.push_back(last);
      } else if (each == all.begin()) {
        ranges.push_back("<=" + last);
      } else {
        ranges.push_back(gap == all.end() ? ">=" + *each : fmt::format(">={} <={}", *each, last));
      }
    }
    each = gap == all.end() ? gap : std::next(gap);
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

class Draft {
 public:
  explicit Draft(std::span<const ResultRow> rows) {
    for (const ResultRow& row : rows) {
      Scope& scope = scopes_[row.key.converter];
      scope.versions.insert(row.key.version);
      scope.options.insert(row.key.options);
      scope.families[row.family].insert(row.key.case_name);
    }
    for (const ResultRow& row : rows) {
      if (row.gate == judge::gate_name(judge::Gate::red) && kDraftable.contains(row.verdict)) add(row);
    }
  }

  [[nodiscard]] std::vector<corpus::ExpectedFailure> entries() const {
    std::vector<corpus::ExpectedFailure> entries;
    for (const auto& [failure, cases] : failures_) {
      // Families whose cases all fail alike, under the same option sets and versions.
      std::map<std::tuple<std::string, std::string, std::string>, std::vector<const Seen*>> alike;
      for (const auto& [name, seen] : cases) {
        for (const auto& [options, versions] : where(failure, seen)) {
          alike[{seen.family, options, versions}].push_back(&seen);
        }
      }
      for (const auto& [what, seen] : alike) {
        const auto& [family, options, versions] = what;
        const Words& planned = scopes_.at(failure.converter).families.at(family);
        if (planned.size() == seen.size() && planned.size() > 1) {
          entries.push_back(entry(failure, family + "/*", options, versions, seen));
          continue;
        }
        for (const Seen* each : seen) entries.push_back(entry(failure, each->name, options, versions, {each}));
      }
    }
    return entries;
  }

 private:
  /// All that was planned of a converter.
  struct Scope {
    Versions versions;
    Words options;
    std::map<std::string, Words> families;
  };
  struct Seen {
    std::string name, family;
    std::map<std::string, Versions> by_options;
    std::optional<double> margin;
  };

  void add(const ResultRow& row) {
    const bool broke = row.verdict == "crash" || row.verdict == "timeout" || row.verdict == "oom";
    const Failure failure{row.key.converter, row.stage, broke ? "" : row.facet, reason_pattern(row.reason)};
    Seen& seen = failures_[failure][row.key.case_name];
    seen.name = row.key.case_name;
    seen.family = row.family;
    seen.by_options[row.key.options].insert(row.key.version);
    if (row.margin) seen.margin = std::max(*row.margin, seen.margin.value_or(0));
  }

  /// Pairs of options and versions as an entry says them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> where(const Failure& failure, const Seen& seen) const {
    const Scope& scope = scopes_.at(failure.converter);
    const Versions& first = seen.by_options.begin()->second;
    const bool everywhere =
        seen.by_options.size() == scope.options.size() &&
        std::ranges::all_of(seen.by_options, [&](const auto& each) { return each.second == first; });
    if (everywhere) return {{"", ranges_of(first, scope.versions)}};
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& [options, versions] : seen.by_options) {
      pairs.emplace_back(options, ranges_of(versions, scope.versions));
    }
    return pairs;
  }

  static corpus::ExpectedFailure entry(const Failure& failure, const std::string& pattern, const std::string& options,
                                       const std::string& versions, const std::vector<const Seen*>& seen) {
    corpus::ExpectedFailure entry;
    entry.case_pattern = pattern;
    entry.options = options;
    entry.converter = failure.converter;
    entry.versions = versions;
    entry.stage = failure.stage;
    entry.facet = failure.facet;
    entry.reason = failure.reason;
    for (const Seen* each : seen) {
      if (each->margin) entry.margin = std::max(*each->margin, entry.margin.value_or(0));
    }
    return entry;
  }

  std::map<std::string, Scope> scopes_;                      ///< by converter
  std::map<Failure, std::map<std::string, Seen>> failures_;  ///< by case
};

}  // namespace

std::vector<corpus::ExpectedFailure> draft_expected(std::span<const results::ResultRow> rows) {
  return Draft(rows).entries();
}

}  // namespace assay::suites
