#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/evidence/explanation.hpp"
#include "harness/judge/quantization/bound_walk.hpp"

namespace assay::judge {

/// Takes the limit of one element apart. A limit is how far the end of an enclosure lies from its centre; enclosures
/// that count one source of error more each time (ErrorSources) differ by what that source adds. The enclosures are
/// those that the judge makes, so that the terms add up to what it compared with.
class BoundTerms {
 public:
  /// Of element `index`, at its lower end or at its upper one.
  BoundTerms(std::int64_t index, bool below) : index_(static_cast<std::size_t>(index)), below_(below) {}

  /// How far that end lies from the centre; 0 where it lies beyond it.
  [[nodiscard]] double reach(const Enclosure& enclosure) const;
  /// `enclosure` counts `source` besides all before it. A source that adds nothing is left out.
  void next(std::string source, const Enclosure& enclosure);
  void add(std::string source, double value);
  [[nodiscard]] std::vector<BoundTerm> take() { return std::move(terms_); }

 private:
  std::size_t index_;
  bool below_;
  double so_far_ = 0;
  std::vector<BoundTerm> terms_;
};

/// Every source of what a tensor carries, from none to all: name, and what counts so far.
[[nodiscard]] std::vector<std::pair<std::string, ErrorSources>> growing_sources();

}  // namespace assay::judge
