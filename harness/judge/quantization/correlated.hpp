#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/quantization/bound_walk.hpp"

namespace assay::judge {

/// |f(v) − f(c) − slope·(v − c)| <= spread for every v of an interval around c.
struct Chord {
  double slope = 1, spread = 0;
};
/// The chord with slope in [0, 1] and the least spread of a function that is linear between `points` (v, f(v)), of
/// which several may share a v.
[[nodiscard]] Chord fit_chord(double centre, double value, const std::vector<std::pair<double, double>>& points);

/// Bounds single elements from end to end with the signs inside kept: an affine form in the errors of every source.
///
/// A node's error is J·(errors that it reads) + what the node adds itself; a reader's error is slope·(error of the
/// tensor) + a spread, for the rounding and clipping in between. Going back from one element, the row of J to each
/// source is summed over all paths before its magnitude is taken: what two branches carry from one source cancels where
/// it really does. Relu, LeakyRelu and Clip are chords too; a node that is not linear starts anew with its whole
/// radius. Derived in docs/oracle_numerics.md, "End to end".
class CorrelatedBound {
 public:
  CorrelatedBound(const QuantizationPlan& plan, bool rounds_twice) : plan_(plan), rounds_twice_(rounds_twice) {}

  /// Nothing was recorded: there is no radius.
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// One output of a node as BoundWalk met it: `before` are its inputs before rounding (null for constants and where
  /// left out), `read` after it.
  void record(std::size_t entry, const std::string& tensor, const std::vector<const Enclosure*>& before,
              const std::vector<const Enclosure*>& read, const Enclosure& output);
  /// Largest distance of element `flat` of `tensor`, before its own rounding, from its centre; nothing where a node's
  /// share can't be told.
  [[nodiscard]] std::optional<double> radius(const std::string& tensor, std::size_t flat);

 private:
  /// A node's output, and once asked for what it adds itself (`own`) and how it reads its inputs.
  struct Step {
    std::size_t entry = 0, position = 0;
    std::string tensor;
    std::vector<std::optional<Enclosure>> before, read;
    Enclosure output;
    bool prepared = false, linear = false;
    std::vector<double> own;
    std::vector<double> diagonal;             ///< of J, where that is all of it
    std::vector<std::vector<Chord>> reading;  ///< per input; empty: as it is
  };
  using Rows = std::map<std::string, std::vector<double>>;

  void prepare(Step& step) const;
  [[nodiscard]] bool find_own_share(Step& step) const;
  [[nodiscard]] bool find_diagonal(Step& step) const;
  [[nodiscard]] std::vector<Chord> reading_of(const std::string& tensor, const Enclosure& before, const Enclosure& read,
                                              bool dynamic) const;
  [[nodiscard]] std::optional<std::vector<std::vector<double>>> transposed(const Step& step,
                                                                           const std::vector<double>& row) const;
  void carry_back(const Step& step, const std::vector<double>& row, Rows& rows, double& sum) const;

  const QuantizationPlan& plan_;
  bool rounds_twice_;
  std::vector<Step> steps_;
};

}  // namespace assay::judge
