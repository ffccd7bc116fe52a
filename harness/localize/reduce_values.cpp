#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "harness/localize/reduce.hpp"

namespace assay::localize {
namespace {

using core::Tensor;

std::size_t distinct(const Tensor& tensor) {
  return std::set<double>(tensor.reals().begin(), tensor.reals().end()).size();
}

double rounded_to(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  constexpr double kTen = 10;
  const double unit = std::pow(kTen, std::floor(std::log10(std::fabs(value))) + 1 - digits);
  return static_cast<double>(static_cast<float>(std::round(value / unit) * unit));
}

/// Coarser and coarser pictures of `tensor`, the coarsest first.
std::vector<Tensor> simpler(const Tensor& tensor) {
  std::vector<Tensor> pictures;
  const auto add = [&](const auto& value_of) {
    Tensor picture = tensor;
    std::ranges::transform(picture.reals(), picture.reals().begin(), value_of);
    if (distinct(picture) < distinct(tensor) || (pictures.empty() && picture != tensor)) {
      pictures.push_back(std::move(picture));
    }
  };
  double largest = 0;
  for (const double value : tensor.reals()) {
    largest = std::max(largest, std::fabs(value));
  }
  const double amplitude = rounded_to(largest, 1);
  add([](double) { return 1.0; });
  add([&](double) { return amplitude; });
  add([&](double value) { return std::copysign(amplitude, value); });
  add([](double value) { return rounded_to(value, 1); });
  add([](double value) { return rounded_to(value, 2); });
  return pictures;
}

}  // namespace

Candidate reduce_values(Candidate best, Trials& trials) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : best.model.graph.initializers) {
    if (tensor->is_real() && tensor->type() == core::DType::float32 && distinct(*tensor) > 1) {
      names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    std::vector<Proposal> proposals;
    for (Tensor& picture : simpler(*best.model.graph.initializers.at(name))) {
      proposals.emplace_back(
          [&best, &name, shared = std::make_shared<const Tensor>(std::move(picture))]() -> std::optional<Candidate> {
            Candidate candidate = best;
            candidate.model.graph.initializers[name] = shared;
            return candidate;
          });
    }
    if (std::optional<Found> plainer = trials.first(proposals)) {
      best = std::move(plainer->candidate);
    }
  }
  return best;
}

}  // namespace assay::localize
