#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"

namespace assay::judge {

/// The errors of correct quantization that a bound counts. What a source adds is the bound with it less the one without
/// (bound_terms.hpp).
struct ErrorSources {
  bool float32 = true;    ///< the executor's float32 arithmetic
  bool inputs = true;     ///< rounding and clipping of graph inputs
  bool inner = true;      ///< the same of tensors in between
  bool weights = true;    ///< rounding of weights
  bool biases = true;     ///< rounding of biases
  bool constants = true;  ///< rounding of other constant operands
};

/// What the executor at hand rounds beyond what the artifact's quantizers say (L1's style, or whatever it may be).
struct EngineRoundings {
  bool twice = false;  ///< every quantization: a quarter of a step more, of a double rounding
  bool bias = false;   ///< biases that the artifact leaves real, to codes of the accumulator

  friend bool operator==(const EngineRoundings&, const EngineRoundings&) = default;
};

/// One data set's way through the original, with bounds on what correct quantization may do to every tensor.
///
/// End to end: the bound grows from the inputs to the outputs. Locally (`known` given): every node starts from what
/// the artifact's tensors really hold, so that only its own errors count.
class BoundWalk {
 public:
  /// `known` gives the dequantized values of an artifact's codes by their name, or null; end to end it is empty.
  using Known = std::function<core::TensorPtr(const std::string& codes)>;
  BoundWalk(const QuantizationPlan& plan, const core::TensorMap& inputs, Known known, EngineRoundings roundings,
            const ErrorSources& sources = {});

  /// Sees every graph input (`entry` null) and every tensor that an entry makes, before its own quantization, as soon
  /// as it is bounded. A tensor is freed after its last reader.
  using OnTensor =
      std::function<void(const Alignment::Operation* entry, const std::string& tensor, const Enclosure& value)>;
  void run(const OnTensor& on_tensor);
  /// Sees every output of a node with the node's inputs before (null for constants) and after rounding.
  using OnNode =
      std::function<void(std::size_t entry, const std::string& tensor, const std::vector<const Enclosure*>& before,
                         const std::vector<const Enclosure*>& read, const Enclosure& output)>;
  void observe_nodes(OnNode on_node) { on_node_ = std::move(on_node); }
  /// Q(t) for `rounding`: what the tensor carries and its own rounding or clipping.
  [[nodiscard]] Enclosure quantized(const Enclosure& tensor, const QuantizationPlan::Rounding& rounding) const;
  /// What `rounding` quantizes: `value`, or where it is chained what the tensor's quantizers before it made of that.
  [[nodiscard]] Enclosure before(const std::string& tensor, const QuantizationPlan::Rounding& rounding,
                                 const Enclosure& value) const;
  /// The tensor before and after any of its quantizations: end to end, who reads which is not asked.
  [[nodiscard]] Enclosure rounded(const std::string& tensor, const Enclosure& value) const;
  [[nodiscard]] const std::string& note() const { return note_; }

  /// The outputs of one node.
  [[nodiscard]] core::Result<std::vector<Enclosure>> enclose(const model::Node& node,
                                                             std::span<const Enclosure* const> inputs) const;

 private:
  /// Where the engine makes a code of the entry's bias, that bias within half a step of it.
  [[nodiscard]] std::optional<Enclosure> rounded_bias(std::size_t entry,
                                                      const std::vector<const Enclosure*>& inputs) const;
  /// Whether the sources count the error of constant `index` of the entry's inputs.
  [[nodiscard]] bool counts_constant(std::size_t entry, std::size_t index) const;
  [[nodiscard]] Enclosure passed_on(const Enclosure& tensor, const std::vector<const CodeSpan*>& spans,
                                    bool itself) const;
  [[nodiscard]] Enclosure operand(std::size_t entry, std::size_t index, const std::string& tensor,
                                  const Enclosure& value) const;
  [[nodiscard]] Enclosure static_operand(std::size_t entry, std::size_t index, const std::string& tensor,
                                         const Enclosure& value) const;
  /// Locally: what a reader of `codes` gets; of "", one of which only the tensor is known.
  [[nodiscard]] Enclosure known_operand(const std::string& tensor, const Enclosure& value,
                                        const std::string& codes) const;
  [[nodiscard]] core::Result<std::vector<Enclosure>> follow(std::size_t entry) const;

  const QuantizationPlan& plan_;
  [[nodiscard]] const Enclosure* find(const std::string& tensor) const;

  const core::TensorMap& inputs_;
  Known known_;
  EngineRoundings engine_;
  OnNode on_node_;
  ErrorSources sources_;
  std::map<std::string, Enclosure, std::less<>> values_;
  std::string note_;
};

}  // namespace assay::judge
