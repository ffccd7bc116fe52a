#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"

namespace assay::judge {

/// The predicted output with values at ties on the other side. What lies half a step between two codes is rounded by
/// the rule of an engine, or by its last places: neither is known. Keeps references to its arguments.
class SidesAtTies {
 public:
  using Fits = std::function<bool(const core::Tensor&)>;

  /// `supposed` is what the predictions are made under.
  SidesAtTies(const LayerContext& context, const QuantizationPlan& plan, const Supposed& supposed)
      : context_(context), plan_(plan), supposed_(supposed) {}

  /// `prediction`'s output, where an element lies at a tie of its own rounding on the side that the engine took:
  /// between few values, as an interpolation makes them, many do.
  [[nodiscard]] core::Tensor nearest(const FakeQuantization& prediction, const std::string& output,
                                     const core::Tensor& actual) const;

  /// Does `fits` hold for `prediction`'s output with ties turned: its own, those inside, or all of them without a look
  /// at the actual output? `only` is what any_draw() says of it.
  [[nodiscard]] bool any_fits(const FakeQuantization& prediction, const std::string& output, const core::Tensor& actual,
                              const core::TensorMap& inputs, const Fits& fits,
                              std::optional<core::Tensor>& only) const {
    return fits(nearest(prediction, output, actual)) || fits(nearest_inside(prediction, output, actual, inputs)) ||
           any_draw(output, inputs, fits, only);
  }

 private:
  /// Where few inputs, or few values between, go into many outputs, the side of one at a tie shows in the whole: the
  /// predicted output for the sides, chosen code by code and then one by one, from the inputs on and again, that bring
  /// it nearest to the actual one.
  [[nodiscard]] core::Tensor nearest_inside(const FakeQuantization& prediction, const std::string& output,
                                            const core::Tensor& actual, const core::TensorMap& inputs) const;

  /// Where many values lie at ties, as means of quantized values on one scale do: does `fits` hold for the output where
  /// all go up, down, away from zero or towards it, or under one of a few draws, in which what lies between the same
  /// two codes of a tensor goes to one side, or each value to one of its own? They don't know the actual output. `only`
  /// becomes the output of the first draw where a network is too large for more of them.
  [[nodiscard]] bool any_draw(const std::string& output, const core::TensorMap& inputs, const Fits& fits,
                              std::optional<core::Tensor>& only) const;

  /// Elements of one tensor that lie at ties between the same two codes: an operator that maps code by code rounds all
  /// of them to one side.
  struct Ties {
    std::int64_t code = 0;                                 ///< below the tie
    std::vector<std::pair<std::size_t, double>> elements;  ///< and the nudge that turns each to the other side
  };
  [[nodiscard]] std::vector<Ties> ties_of(const FakeQuantization& prediction, const std::string& tensor) const;
  [[nodiscard]] std::vector<std::string> all_tensors() const;

  const LayerContext& context_;
  const QuantizationPlan& plan_;
  const Supposed& supposed_;
};

}  // namespace assay::judge
