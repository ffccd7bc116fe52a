#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "harness/localize/reduce.hpp"

namespace assay::localize {
namespace {

using core::Tensor;
using core::TensorMap;

/// One place where an extent stands: an axis of an input or initializer, an attribute's number, or a number in an
/// initializer of integers (a shape).
struct Place {
  enum class Kind { axis, attribute, value } kind;
  std::string name;      ///< of the tensor, or the attribute
  std::size_t index;     ///< the axis, or which number
  std::size_t node = 0;  ///< of the attribute
};

constexpr std::int64_t kMostValues = 16;
constexpr std::array kExtentAttributes{"group", "kernel_shape", "output_shape", "shape", "split", "hidden_size"};

/// `tensor` along `axis`, `count` indices from `from` on.
Tensor sliced(const Tensor& tensor, std::size_t axis, std::size_t from, std::size_t count) {
  core::Shape shape = tensor.shape();
  const auto extent = static_cast<std::size_t>(shape[axis]);
  std::size_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<std::size_t>(shape[i]);
  }
  shape[axis] = static_cast<std::int64_t>(count);
  const auto take = [&](const auto& values) {
    std::vector<std::remove_cvref_t<decltype(values[0])>> kept;
    kept.reserve(outer * count * inner);
    for (std::size_t o = 0; o < outer; ++o) {
      const auto run = values.subspan((o * extent + from) * inner, count * inner);
      kept.insert(kept.end(), run.begin(), run.end());
    }
    return Tensor(tensor.type(), shape, std::move(kept));
  };
  return tensor.is_real() ? take(tensor.reals()) : take(tensor.integers());
}

/// Where each extent above 1 stands, largest extent first.
std::map<std::int64_t, std::vector<Place>, std::greater<>> places_of(const Candidate& candidate) {
  std::map<std::int64_t, std::vector<Place>, std::greater<>> places;
  const auto add = [&](std::int64_t extent, Place place) {
    if (extent > 1) {
      places[extent].push_back(std::move(place));
    }
  };
  const auto add_axes = [&](const std::string& name, const core::Shape& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      add(shape[axis], {Place::Kind::axis, name, axis});
    }
  };
  const model::Graph& graph = candidate.model.graph;
  if (!candidate.inputs.empty()) {
    for (const auto& [name, tensor] : candidate.inputs.front()) {
      add_axes(name, tensor.shape());
    }
  }
  for (const auto& [name, tensor] : graph.initializers) {
    add_axes(name, tensor->shape());
    for (std::int64_t i = 0; !tensor->is_real() && tensor->size() <= kMostValues && i < tensor->size(); ++i) {
      add(tensor->integers()[static_cast<std::size_t>(i)], {Place::Kind::value, name, static_cast<std::size_t>(i)});
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const auto& [name, value] : graph.nodes[n].attributes) {
      if (std::ranges::find(kExtentAttributes, name) == kExtentAttributes.end()) {
        continue;
      }
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        for (std::size_t i = 0; i < list->size(); ++i) {
          add((*list)[i], {Place::Kind::attribute, name, i, n});
        }
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        add(*number, {Place::Kind::attribute, name, 0, n});
      }
    }
  }
  return places;
}

struct Cut {
  std::int64_t from_extent, to_extent;
  bool last;  ///< keeps the last indices instead of the first
};

void cut_axis(Candidate& candidate, const Place& place, const Cut& cut) {
  const auto count = static_cast<std::size_t>(cut.to_extent);
  const auto from = cut.last ? static_cast<std::size_t>(cut.from_extent) - count : 0;
  const auto fits = [&](const Tensor& tensor) {
    return place.index < tensor.shape().size() && tensor.shape()[place.index] == cut.from_extent;
  };
  model::Graph& graph = candidate.model.graph;
  if (const auto found = graph.initializers.find(place.name); found != graph.initializers.end()) {
    if (fits(*found->second)) {
      found->second = std::make_shared<const Tensor>(sliced(*found->second, place.index, from, count));
    }
    return;
  }
  for (model::ValueInfo& input : graph.inputs) {
    if (input.name == place.name && input.shape && (*input.shape)[place.index].value) {
      (*input.shape)[place.index].value = cut.to_extent;
    }
  }
  for (std::vector<TensorMap>* batches : {&candidate.calibration, &candidate.inputs}) {
    for (TensorMap& batch : *batches) {
      Tensor& tensor = batch.at(place.name);
      if (fits(tensor)) {
        tensor = sliced(tensor, place.index, from, count);
      }
    }
  }
}

void cut_place(Candidate& candidate, const Place& place, const Cut& cut) {
  model::Graph& graph = candidate.model.graph;
  if (place.kind == Place::Kind::axis) {
    cut_axis(candidate, place, cut);
  } else if (place.kind == Place::Kind::value) {
    Tensor changed = *graph.initializers.at(place.name);
    if (place.index < changed.integers().size()) {
      changed.integers()[place.index] = cut.to_extent;
      graph.initializers[place.name] = std::make_shared<const Tensor>(std::move(changed));
    }
  } else {
    model::Attribute& attribute = graph.nodes[place.node].attributes.at(place.name);
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) {
      (*list)[place.index] = cut.to_extent;
    } else {
      attribute = cut.to_extent;
    }
  }
}

/// Sets of places that may hang together: all, each with one other, each alone, all but one.
std::vector<std::vector<Place>> groups(const std::vector<Place>& places) {
  constexpr std::size_t kMostPlaces = 10;
  std::vector<std::vector<Place>> sets{places};
  if (places.size() < 2 || places.size() > kMostPlaces) {
    return sets;
  }
  for (std::size_t i = 0; i < places.size() && places.size() > 2; ++i) {
    std::vector<Place> rest = places;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    sets.push_back(std::move(rest));
  }
  for (std::size_t i = 0; i < places.size() && places.size() > 3; ++i) {
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      sets.push_back({places[i], places[j]});
    }
  }
  for (const Place& place : places) {
    sets.push_back({place});
  }
  return sets;
}

/// Small ones first.
std::vector<std::int64_t> targets(std::int64_t extent) {
  std::set<std::int64_t> values{1, 2, 3, extent / 4, extent / 2, extent - 1};
  std::erase_if(values, [&](std::int64_t value) { return value < 1 || value >= extent; });
  return {values.begin(), values.end()};
}

}  // namespace

Candidate reduce_extents(Candidate best, Trials& trials) {
  std::set<std::int64_t> settled;  // extents at which nothing more is to be had
  while (true) {
    const auto places = places_of(best);
    const auto next = std::ranges::find_if(places, [&](const auto& entry) { return !settled.contains(entry.first); });
    if (next == places.end()) {
      return best;
    }
    const std::int64_t extent = next->first;
    std::vector<Proposal> proposals;
    for (const std::vector<Place>& group : groups(next->second)) {
      for (const std::int64_t target : targets(extent)) {
        for (const bool last : {false, true}) {
          proposals.emplace_back([&best, group, cut = Cut{extent, target, last}]() -> std::optional<Candidate> {
            Candidate candidate = best;
            for (const Place& place : group) {
              cut_place(candidate, place, cut);
            }
            return tidied(std::move(candidate));
          });
        }
      }
    }
    std::optional<Found> smaller = trials.first(proposals);
    if (smaller) {
      best = std::move(smaller->candidate);
    } else {
      settled.insert(extent);
    }
  }
}

}  // namespace assay::localize
