#include "harness/report/found_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "harness/core/text.hpp"
#include "harness/report/markdown.hpp"

namespace assay::report {
namespace {

struct Found {
  std::set<std::string> names;
  std::vector<corpus::Origin> origins;
};

std::string listed(const std::set<std::string>& items) {
  return core::join(std::vector<std::string>(items.begin(), items.end()), ", ");
}

/// The converters that an entry's pattern speaks of: itself, the converter alone for "NAME*", and else those of the
/// suite.
std::vector<std::string> named_by(const std::string& pattern, std::span<const std::string> converters) {
  const std::size_t star = pattern.find('*');
  const bool several = pattern.find(' ') != std::string::npos;
  const bool of_all = star + 1 == pattern.size() && pattern.find(':') == std::string::npos;
  if (!several && (star == std::string::npos || of_all)) return {pattern.substr(0, star)};
  std::vector<std::string> names;
  std::ranges::copy_if(converters, std::back_inserter(names),
                       [&](const std::string& name) { return core::any_glob_match(pattern, name); });
  return names;
}

/// Each converter that some case of `names` is red with, and in which versions where not in all.
std::string red_in(const std::set<std::string>& names, std::span<const corpus::Suite> suites) {
  std::map<std::string, std::set<std::string>> versions;
  for (const corpus::Suite& suite : suites) {
    for (const corpus::ExpectedFailure& entry : suite.expected_failures) {
      if (!entry.converter.starts_with("embedded") && std::ranges::any_of(names, [&](const std::string& name) {
            return core::glob_match(entry.case_pattern, name);
          })) {
        for (const std::string& name : named_by(entry.converter, suite.converters))
          versions[name].insert(entry.versions);
      }
    }
  }
  std::vector<std::string> cells;
  cells.reserve(versions.size());
  for (const auto& [converter, ranges] : versions) {
    cells.push_back(ranges.contains("") ? converter : fmt::format("{} `{}`", converter, listed(ranges)));
  }
  return core::join(cells, ", ");
}

/// Links to the threads, "none found", or nothing where nobody searched.
std::string upstream_text(const corpus::Origin& origin) {
  if (!origin.upstream) return "";
  std::vector<std::string> links;
  for (const std::string& url : *origin.upstream) {
    links.push_back(fmt::format("[{}]({})", url.substr(url.rfind('/') + 1), url));
  }
  return links.empty() ? "none found" : core::join(links, ", ");
}

}  // namespace

std::string found_table(std::span<const corpus::Case> cases, std::span<const corpus::Suite> suites) {
  std::map<std::string, Found> families;
  for (const corpus::Case& each : cases) {
    families[each.family].names.insert(each.name);
    families[each.family].origins = each.origins;
  }
  std::string table = row_text({"case", "found with", "what it does", "reported", "which versions have it"}) +
                      "| --- | --- | --- | --- | --- |\n";
  for (const auto& [family, found] : families) {
    std::vector<std::string> against, defects, upstream;
    for (const corpus::Origin& origin : found.origins) {
      against.push_back(escaped(origin.reported_against));
      defects.push_back(escaped(origin.defect));
      upstream.push_back(upstream_text(origin));
    }
    table += row_text({fmt::format("`{}`", family), core::join(against, "; "), core::join(defects, "; "),
                       core::join(upstream, "; "), red_in(found.names, suites)});
  }
  return table;
}

}  // namespace assay::report
