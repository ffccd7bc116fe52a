#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// What the artifact's products (Conv, ConvTranspose, Gemm) lose on the calibration data against the float model, the
/// same tensor of both, by the name that it has in the artifact.
class ProductErrors {
 public:
  struct Errors {
    std::vector<double> mean;  ///< for each output channel, over all batches
    double rms = 0;            ///< of all elements
  };
  using Table = std::map<std::string, Errors>;

  /// Runs the models on every batch where the policy says that biases are corrected; else nothing. Where one can't be
  /// run, nothing is known.
  explicit ProductErrors(const LayerContext& context);
  [[nodiscard]] const Errors* of(const std::string& tensor) const { return find(errors_, tensor); }
  /// The same where activations aren't rounded: the weights alone.
  [[nodiscard]] const Errors* of_weights(const std::string& tensor) const { return find(of_weights_, tensor); }

 private:
  [[nodiscard]] static const Errors* find(const Table& table, const std::string& tensor) {
    const auto found = table.find(tensor);
    return found == table.end() ? nullptr : &found->second;
  }
  Table errors_, of_weights_;
};

}  // namespace assay::judge
