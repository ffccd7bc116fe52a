#include "harness/judge/numerics/ranking.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/judge/numerics/bound_compare.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using model::Node;

struct Element {
  double centre, low, high;
};

/// How far `above` lies over `below`, in units of what both may be off: more than 1 is for sure.
double surely_above(const Element& above, const Element& below) {
  const double limit =
      above.centre - above.low + below.high - below.centre + storage_error(above.centre) + storage_error(below.centre);
  return (above.centre - below.centre) / limit;
}

/// The element of that rank from the largest on, of those that aren't NaN; -1 where there are fewer.
double of_rank(std::vector<double> values, std::size_t rank) {
  std::erase_if(values, [](double value) { return value != value; });
  if (rank >= values.size()) return -1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(values, at, std::greater<>());
  return *at;
}

/// The elements along the axis that one group of positions is about, the largest wanted first.
class Row {
 public:
  Row(std::vector<Element> elements, bool in_order, std::size_t count)
      : elements_(std::move(elements)), in_order_(in_order), count_(count) {
    for (const Element& element : elements_) {
      lows_.push_back(element.low);
      highs_.push_back(element.high);
    }
    std::ranges::sort(lows_);
    std::ranges::sort(highs_);
  }

  /// More than 1 where the element can't have that rank.
  [[nodiscard]] double margin(std::size_t chosen, std::size_t rank) const {
    std::vector<double> above, below;
    for (std::size_t j = 0; j < elements_.size(); ++j) {
      if (j == chosen) continue;
      above.push_back(surely_above(elements_[j], elements_[chosen]));
      below.push_back(surely_above(elements_[chosen], elements_[j]));
    }
    const double too_low = of_rank(std::move(above), last_rank(rank));
    return in_order_ ? std::max(too_low, of_rank(std::move(below), elements_.size() - 1 - rank)) : too_low;
  }

  /// Every position is possible there.
  [[nodiscard]] bool is_open(std::size_t rank) const {
    const std::size_t n = elements_.size(), last = last_rank(rank);
    const bool too_low = lows_[n - 1 - last] > highs_.front();
    const bool too_high = in_order_ && rank > 0 && highs_[n - 1 - rank] < lows_.back();
    return !too_low && !too_high;
  }

  [[nodiscard]] std::size_t of_exact(std::size_t rank) const {
    std::vector<std::size_t> order(elements_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return elements_[i].centre; });
    return order[rank];
  }
  [[nodiscard]] const Element& at(std::size_t index) const { return elements_[index]; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }

 private:
  [[nodiscard]] std::size_t last_rank(std::size_t rank) const { return in_order_ ? rank : count_ - 1; }

  std::vector<Element> elements_;
  bool in_order_;
  std::size_t count_;
  std::vector<double> lows_, highs_;
};

}  // namespace

RankingExcess compare_ranking(const Node& node, const Enclosure& ranked, const Tensor& positions) {
  RankingExcess excess;
  const core::Shape& shape = ranked.centre->shape();
  const bool several = node.op_type == "TopK";
  std::int64_t axis = node.int_or("axis", several ? -1 : 0);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (!ranked.centre->is_real() || positions.is_real() || axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) {
    return excess;
  }
  const auto extent = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<std::int64_t>(i) < axis) outer *= static_cast<std::size_t>(shape[i]);
    if (static_cast<std::int64_t>(i) > axis) inner *= static_cast<std::size_t>(shape[i]);
  }
  const std::span<const std::int64_t> given = positions.integers();
  if (outer * inner == 0 || given.size() % (outer * inner) != 0) return excess;
  const std::size_t count = given.size() / (outer * inner);
  constexpr std::size_t kMostPairs = std::size_t{1} << 27;
  if (count == 0 || count > extent || (!several && count != 1) || given.size() > kMostPairs / extent) return excess;
  const bool least = node.op_type == "ArgMin" || (several && node.int_or("largest", 1) == 0);
  const bool in_order = !several || node.int_or("sorted", 1) != 0;
  const Enclosure ends = with_explicit_ends(ranked);
  const std::span<const double> centre = ends.centre->reals(), low = ends.low_or_centre().reals(),
                                high = ends.high_or_centre().reals();
  excess.elements = static_cast<std::int64_t>(given.size());
  for (std::size_t lane = 0; lane < outer * inner; ++lane) {
    const std::size_t o = lane / inner, i = lane % inner;
    std::vector<Element> elements;
    for (std::size_t j = 0; j < extent; ++j) {
      const std::size_t at = (o * extent + j) * inner + i;
      elements.push_back(least ? Element{-centre[at], -high[at], -low[at]} : Element{centre[at], low[at], high[at]});
    }
    const Row row(std::move(elements), in_order, count);
    std::set<std::int64_t> seen;
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t at = (o * count + rank) * inner + i;
      const std::int64_t chosen = given[at];
      const bool possible = chosen >= 0 && static_cast<std::size_t>(chosen) < extent && seen.insert(chosen).second;
      const double margin =
          possible ? row.margin(static_cast<std::size_t>(chosen), rank) : std::numeric_limits<double>::infinity();
      excess.open += row.is_open(rank) ? 1 : 0;
      excess.wrong += margin > 1 ? 1 : 0;
      if (!(margin > excess.margin)) continue;
      excess.margin = margin;
      excess.worst = static_cast<std::int64_t>(at);
      excess.expected = static_cast<std::int64_t>(row.of_exact(rank));
      excess.actual = chosen;
      if (!possible) continue;
      excess.apart = row.at(row.of_exact(rank)).centre - row.at(static_cast<std::size_t>(chosen)).centre;
      excess.limit = excess.apart / margin;
    }
  }
  return excess;
}

}  // namespace assay::judge
