#include "harness/localize/bisect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/core/counted.hpp"
#include "harness/localize/trials.hpp"

namespace assay::localize {
namespace {

class NodeBisection {
 public:
  NodeBisection(const Cutter& cutter, const Judge& judge, const std::function<void(const std::string&)>& on_progress)
      : cutter_(cutter), judge_(judge), on_progress_(on_progress) {}

  /// Tries every part of `nodes` that has `most` nodes.
  void sweep(const Nodes& nodes, std::size_t most) {
    if (nodes.size() > most) {
      const auto [first, second] = halves(nodes);
      sweep(first, most);
      sweep(second, most);
    } else if (std::optional<judge::Judgement> own = red(nodes)) {
      follow(nodes, *std::move(own));
    }
  }

  /// `nodes` are red as a part, with `judgement`.
  void follow(const Nodes& nodes, judge::Judgement judgement) {
    if (nodes.size() > 1) {
      const auto [first, second] = halves(nodes);
      bool deeper = false;
      for (const Nodes& half : {first, second}) {
        if (std::optional<judge::Judgement> own = red(half)) {
          deeper = true;
          follow(half, *std::move(own));
        }
      }
      if (deeper) {
        return;
      }
      // Neither half by itself: they go wrong together. What is not needed for that is left out.
      const Items together = ddmin(nodes, [&](const std::vector<Items>& sets) -> std::optional<std::size_t> {
        for (std::size_t i = 0; i < sets.size(); ++i) {
          if (std::optional<judge::Judgement> own = red(sets[i])) {
            judgement = *std::move(own);
            return i;
          }
        }
        return std::nullopt;
      });
      report(together, std::move(judgement));
      return;
    }
    report(nodes, std::move(judgement));
  }

  [[nodiscard]] std::vector<WrongPart> result() && { return std::move(parts_); }

 private:
  void report(const Nodes& nodes, judge::Judgement judgement) {
    WrongPart part{{}, std::move(judgement)};
    for (const std::size_t index : nodes) {
      part.nodes.push_back(cutter_.graph().nodes[index].name);
    }
    parts_.push_back(std::move(part));
  }

  std::optional<judge::Judgement> red(const Nodes& nodes) {
    core::Result<Candidate> cut = cutter_.cut(nodes);
    std::optional<Candidate> part = cut ? tidied(*std::move(cut)) : std::nullopt;
    if (!part) {
      return std::nullopt;
    }
    judge::Judgement judgement = judge_.judge(*part, judge::Depth::full);
    if (on_progress_) {
      on_progress_(fmt::format("{} from \"{}\": {}", core::counted(nodes.size(), "node"),
                               cutter_.graph().nodes[*nodes.begin()].name, judge::verdict_name(judgement.verdict)));
    }
    // A part that nothing can be told of is not the trouble.
    const bool own_fault =
        judgement.verdict == judge::Verdict::harness_error || judgement.verdict == judge::Verdict::invalid_case;
    return judgement.gate == judge::Gate::red && !own_fault ? std::optional(std::move(judgement)) : std::nullopt;
  }

  /// Two parts, cut in the middle half of the order where the fewest tensors cross, nearest to the middle.
  [[nodiscard]] std::pair<Nodes, Nodes> halves(const Nodes& nodes) const {
    const std::vector<std::size_t> order(nodes.begin(), nodes.end());
    std::size_t best = order.size() / 2;
    std::size_t fewest = SIZE_MAX;
    for (std::size_t at = 1; at < order.size(); ++at) {
      const std::size_t from_middle = at * 2 > order.size() ? at * 2 - order.size() : order.size() - at * 2;
      if (from_middle * 2 > order.size()) {
        continue;
      }
      const std::size_t cost = crossing(order, at) * order.size() * 2 + from_middle;
      if (cost < fewest) {
        fewest = cost;
        best = at;
      }
    }
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(best);
    return {Nodes(order.begin(), middle), Nodes(middle, order.end())};
  }

  /// Tensors that the nodes before `at` make and those from it on read.
  [[nodiscard]] std::size_t crossing(const std::vector<std::size_t>& order, std::size_t at) const {
    std::set<std::string> made, crossing;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const model::Node& node = cutter_.graph().nodes[order[i]];
      if (i < at) {
        made.insert(node.outputs.begin(), node.outputs.end());
        continue;
      }
      for (const std::string& name : reads(node)) {
        if (made.contains(name)) {
          crossing.insert(name);
        }
      }
    }
    return crossing.size();
  }

  const Cutter& cutter_;
  const Judge& judge_;
  const std::function<void(const std::string&)>& on_progress_;
  std::vector<WrongPart> parts_;
};

}  // namespace

core::Result<std::vector<WrongPart>> wrong_parts(const Candidate& whole, const Judge& judge, std::size_t part_nodes,
                                                 const std::function<void(const std::string&)>& on_progress) {
  const core::Result<Cutter> cutter = Cutter::make(whole);
  if (!cutter) {
    return cutter.error();
  }
  Nodes all;
  for (std::size_t i = 0; i < whole.nodes(); ++i) {
    all.insert(i);
  }
  NodeBisection bisection(*cutter, judge, on_progress);
  bisection.sweep(all, std::max<std::size_t>(part_nodes, 1));
  return std::move(bisection).result();
}

std::vector<std::string> guilty_optimizers(const Candidate& whole, Judge& judge,
                                           const std::function<void(const std::string&)>& on_progress) {
  const std::vector<std::string> names = judge.description().supports.optimizers;
  const auto chosen = [&](const Items& items) {
    std::vector<std::string> some;
    for (const std::size_t item : items) some.push_back(names[item]);
    return some;
  };
  const auto is_right_without = [&](const Items& items) {
    judge.disable_optimizers(chosen(items));
    const judge::Judgement judgement = judge.judge(whole, judge::Depth::gate);
    if (on_progress) {
      on_progress(fmt::format("without {} (\"{}\" …): {}", core::counted(items.size(), "optimizer"),
                              names[*items.begin()], judge::verdict_name(judgement.verdict)));
    }
    return judgement.gate != judge::Gate::red;
  };
  Items guilty;
  for (std::size_t i = 0; i < names.size(); ++i) guilty.insert(i);
  if (guilty.empty() || !is_right_without(guilty)) return {};
  guilty = ddmin(std::move(guilty), [&](const std::vector<Items>& sets) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(sets, is_right_without);
    return found == sets.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - sets.begin()));
  });
  judge.disable_optimizers({});
  return chosen(guilty);
}

Items needed_batches(const Candidate& whole, const Judge& judge, const std::string& signature) {
  Items all;
  for (std::size_t i = 0; i < whole.calibration.size(); ++i) {
    all.insert(i);
  }
  return ddmin(std::move(all), [&](const std::vector<Items>& sets) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      Candidate part = whole;
      part.calibration.clear();
      for (const std::size_t batch : sets[i]) {
        part.calibration.push_back(whole.calibration[batch]);
      }
      if (signature_of(judge.judge(part, judge::Depth::gate)) == signature) {
        return i;
      }
    }
    return std::nullopt;
  });
}

}  // namespace assay::localize
