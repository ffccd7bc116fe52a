#include "harness/localize/reduce.hpp"

#include <utility>

namespace assay::localize {

core::Result<Candidate> reduce(Candidate start, const std::vector<std::string>& suspects, Trials& trials,
                               const OnProgress& on_progress) {
  const auto tell = [&](const char* stage, const Candidate& best) {
    if (on_progress) {
      on_progress({stage, best.nodes(), best.bytes(), trials.checks()});
    }
  };
  Candidate best = reduce_data(std::move(start), trials);
  tell("data", best);
  core::Result<Candidate> fewer = reduce_nodes(std::move(best), suspects, trials);
  if (!fewer) {
    return fewer;
  }
  best = *std::move(fewer);
  tell("nodes", best);
  for (std::string before; before != best.hash();) {
    before = best.hash();
    if (best.artifact == nullptr) {  // a ready artifact fits its model as it is
      best = reduce_interface(std::move(best), trials);
      tell("inputs and attributes", best);
      best = reduce_extents(std::move(best), trials);
      tell("extents", best);
      best = reduce_values(std::move(best), trials);
      tell("values", best);
    }
    if (best.nodes() > 1) {
      fewer = reduce_nodes(std::move(best), {}, trials);
      if (!fewer) {
        return fewer;
      }
      best = *std::move(fewer);
    }
    best = reduce_data(std::move(best), trials);
    tell("nodes and data", best);
  }
  return best;
}

Candidate reduce_data(Candidate best, Trials& trials) {
  for (std::vector<core::TensorMap> Candidate::*data : {&Candidate::calibration, &Candidate::inputs}) {
    for (bool smaller = true; smaller && (best.*data).size() > 1;) {
      std::vector<Proposal> proposals;
      const auto propose = [&](std::size_t from, std::size_t count) {
        proposals.emplace_back([&best, data, from, count]() -> std::optional<Candidate> {
          Candidate part = best;
          const auto first = (best.*data).begin() + static_cast<std::ptrdiff_t>(from);
          (part.*data).assign(first, first + static_cast<std::ptrdiff_t>(count));
          return part;
        });
      };
      const std::size_t size = (best.*data).size();
      for (std::size_t i = 0; i < size; ++i) {
        propose(i, 1);
      }
      if (size > 3) {
        propose(0, size / 2);
        propose(size / 2, size - size / 2);
      }
      std::optional<Found> part = trials.first(proposals);
      smaller = part.has_value();
      if (part) {
        best = std::move(part->candidate);
      }
    }
  }
  return best;
}

}  // namespace assay::localize
