#include "harness/judge/evidence/evidence.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::judge {
namespace {

constexpr std::array<std::pair<DataSource, std::string_view>, 4> kDataSources{{{DataSource::given, "given"},
                                                                               {DataSource::generated, "generated"},
                                                                               {DataSource::stands_in, "stands_in"},
                                                                               {DataSource::unknown, "unknown"}}};

}  // namespace

std::string_view data_source_name(DataSource source) {
  return std::ranges::find(kDataSources, source, &std::pair<DataSource, std::string_view>::first)->second;
}

std::optional<DataSource> parse_data_source(std::string_view name) {
  const auto found = std::ranges::find(kDataSources, name, &std::pair<DataSource, std::string_view>::second);
  return found == kDataSources.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace assay::judge
