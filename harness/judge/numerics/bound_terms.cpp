#include "harness/judge/numerics/bound_terms.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::judge {

double BoundTerms::reach(const Enclosure& enclosure) const {
  const Enclosure ends = with_explicit_ends(enclosure);
  const double centre = ends.centre->reals()[index_];
  const double end =
      below_ ? centre - ends.low_or_centre().reals()[index_] : ends.high_or_centre().reals()[index_] - centre;
  return std::max(end, 0.0);
}

void BoundTerms::next(std::string source, const Enclosure& enclosure) {
  const double reached = reach(enclosure);
  add(std::move(source), reached - so_far_);
  so_far_ = reached;
}

void BoundTerms::add(std::string source, double value) {
  if (value != 0) {
    terms_.push_back({std::move(source), value});
  }
}

std::vector<std::pair<std::string, ErrorSources>> growing_sources() {
  static constexpr auto kSources = std::to_array<std::pair<const char*, bool ErrorSources::*>>({
      {"float32 arithmetic", &ErrorSources::float32},
      {"rounding and clipping of graph inputs", &ErrorSources::inputs},
      {"rounding and clipping of tensors in between", &ErrorSources::inner},
      {"rounding of weights", &ErrorSources::weights},
      {"rounding of biases", &ErrorSources::biases},
      {"rounding of other constants", &ErrorSources::constants},
  });
  ErrorSources counted{false, false, false, false, false, false};
  std::vector<std::pair<std::string, ErrorSources>> growing{{"read before or after its own rounding", counted}};
  for (const auto& [name, source] : kSources) {
    counted.*source = true;
    growing.emplace_back(name, counted);
  }
  return growing;
}

}  // namespace assay::judge
