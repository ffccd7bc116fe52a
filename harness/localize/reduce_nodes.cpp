#include <algorithm>
#include <utility>

#include "harness/localize/ddmin.hpp"
#include "harness/localize/reduce.hpp"

namespace assay::localize {
namespace {

/// The nodes that make or read `name`, or have it.
Nodes nodes_of(const Cutter& cutter, const std::string& name) {
  Nodes nodes;
  const auto& all = cutter.graph().nodes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) {
      return {i};
    }
  }
  if (const auto producer = cutter.wiring().producer(name)) {
    nodes.insert(*producer);
  } else {
    const auto& readers = cutter.wiring().consumers(name);
    nodes.insert(readers.begin(), readers.end());
  }
  return nodes;
}

enum class Towards { inputs, both };

/// `nodes` and those that stand next to them, in front or on both sides.
Nodes grown(const Cutter& cutter, const Nodes& nodes, Towards towards) {
  Nodes wider = nodes;
  for (const std::size_t index : nodes) {
    const model::Node& node = cutter.graph().nodes[index];
    for (const std::string& name : reads(node)) {
      if (const auto producer = cutter.wiring().producer(name)) {
        wider.insert(*producer);
      }
    }
    if (towards == Towards::inputs) continue;
    for (const std::string& name : node.outputs) {
      const auto& readers = cutter.wiring().consumers(name);
      wider.insert(readers.begin(), readers.end());
    }
  }
  return wider;
}

class NodeReduction {
 public:
  NodeReduction(const Cutter& cutter, Trials& trials) : cutter_(cutter), trials_(trials) {
    for (std::size_t i = 0; i < cutter.graph().nodes.size(); ++i) {
      kept_.insert(i);
    }
  }

  /// Neighbourhoods of the suspects, from small to large; of each size those in front of a suspect first, since that is
  /// where what is computed with it as one stands.
  void guess(const std::vector<std::string>& suspects) {
    constexpr std::size_t kSuspects = 4;
    constexpr int kSteps = 6;
    std::vector<Nodes> sets;
    std::vector<Nodes> areas;
    for (const std::string& name : suspects) {
      Nodes area = nodes_of(cutter_, name);
      if (!area.empty() && areas.size() < kSuspects && std::ranges::find(areas, area) == areas.end()) {
        areas.push_back(std::move(area));
      }
    }
    std::vector<Nodes> in_front = areas;
    for (int step = 0; step < kSteps; ++step) {
      for (const auto& [grow, towards] : {std::pair(&in_front, Towards::inputs), std::pair(&areas, Towards::both)}) {
        for (Nodes& area : *grow) {
          if (area.size() < kept_.size() && std::ranges::find(sets, area) == sets.end()) sets.push_back(area);
          area = grown(cutter_, area, towards);
        }
      }
    }
    if (const auto taken = take_first(sets)) {
      kept_ = sets[*taken];
    }
  }

  void minimize() {
    kept_ = ddmin(kept_, [this](const std::vector<Nodes>& sets) { return take_first(sets); });
  }

  [[nodiscard]] std::optional<Candidate> result() && { return std::move(best_); }

 private:
  std::optional<std::size_t> take_first(const std::vector<Nodes>& sets) {
    std::vector<Proposal> proposals;
    proposals.reserve(sets.size());
    for (const Nodes& nodes : sets) {
      proposals.emplace_back([this, &nodes]() -> std::optional<Candidate> {
        core::Result<Candidate> part = cutter_.cut(nodes);
        std::optional<Candidate> tidy = part ? tidied(*std::move(part)) : std::nullopt;
        if (!tidy) return std::nullopt;
        std::optional<Candidate> sliced = cutter_.with_slice(*std::move(tidy));
        if (!sliced) trials_.refusals().add("have no artifact of their own (it computes what lies at an end as one)");
        return sliced;
      });
    }
    std::optional<Found> part = trials_.first(proposals);
    if (!part) {
      return std::nullopt;
    }
    best_ = std::move(part->candidate);
    return part->index;
  }

  const Cutter& cutter_;
  Trials& trials_;
  Nodes kept_;
  std::optional<Candidate> best_;
};

}  // namespace

core::Result<Candidate> reduce_nodes(Candidate best, const std::vector<std::string>& suspects, Trials& trials) {
  const core::Result<Cutter> cutter = Cutter::make(best);
  if (!cutter) {
    return cutter.error();
  }
  NodeReduction reduction(*cutter, trials);
  reduction.guess(suspects);
  reduction.minimize();
  std::optional<Candidate> fewer = std::move(reduction).result();
  return fewer ? *std::move(fewer) : std::move(best);
}

}  // namespace assay::localize
