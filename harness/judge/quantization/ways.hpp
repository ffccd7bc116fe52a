#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"

namespace assay::judge {

/// One way in which a conversion may have been made, where neither an artifact nor scales nor the policy's words tell.
class Way {
 public:
  /// `context` is the conversion's own; BatchNormalizations that may have been folded into operators of the types in
  /// `folds_into` were. Keeps references into `context`.
  Way(const LayerContext& context, const std::set<std::string>& folds_into, Supposed supposed);
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  Way(Way&&) = delete;
  Way& operator=(Way&&) = delete;
  ~Way() = default;

  [[nodiscard]] const LayerContext& context() const { return context_; }
  [[nodiscard]] const QuantizationPlan& plan() const { return plan_; }
  [[nodiscard]] bool folds() const { return folds_; }
  [[nodiscard]] const Supposed& supposed() const { return supposed_; }
  [[nodiscard]] const FakeQuantization& prediction() const { return prediction_; }
  /// False where the reference can't.
  [[nodiscard]] bool run(const core::TensorMap& inputs) { return prediction_.run(inputs).ok(); }

 private:
  LayerContext context_;
  QuantizationPlan plan_;
  bool folds_;
  Supposed supposed_;
  FakeQuantization prediction_;
};

/// All ways but the plain one, in which nothing was folded that isn't known to be, the groups of a ConvTranspose share
/// their scales, what nodes in float make is rounded where INT8 reads it, and a Supposed has nothing else either. A
/// converter does all of a kind alike, and folds into all operators of a type or into none. `plain` is the prediction
/// of the plain one. Empty where an artifact or the model's own quantizers show what was done.
[[nodiscard]] std::vector<std::unique_ptr<Way>> other_ways(const LayerContext& context, const QuantizationPlan& plan,
                                                           const FakeQuantization& plain);

}  // namespace assay::judge
