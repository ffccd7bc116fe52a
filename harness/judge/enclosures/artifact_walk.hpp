#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/enclosures/enclosure.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/code_tensors.hpp"
#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// One node of an artifact, ready to be walked many times.
struct WalkStep {
  /// `round` is a DynamicQuantizeLinear or what stands for one: its first output stands for the values of its codes,
  /// which `pass` hands on.
  enum class Action { constant, quantize, dequantize, round, pass, plain };
  Action action = Action::plain;
  core::QuantParams params;  ///< of quantize and dequantize
  /// Stands between codes of 8 bits on both sides, so an integer engine runs it on them; otherwise it runs in float32,
  /// whose error also covers integer sums of wider codes, and of those whose scale an inference finds.
  bool integer = false;
  /// An integer sum of products that nothing quantizes: dequantized from its accumulator to float32.
  bool left_in_float = false;
  double unit = 0;  ///< roundoff of the 16-bit floats that it reads or gives; 0: float32
};

/// An artifact with everything that does not depend on its inputs computed once. Keeps a pointer to `view`.
class PreparedArtifact {
 public:
  /// Which nodes run on codes is what the converter reports in `evidence`, else what the graph looks like.
  /// Errors   invalid_model where parameters can't be read.
  [[nodiscard]] static core::Result<PreparedArtifact> make(const ArtifactView& view, const Evidence& evidence);

  [[nodiscard]] const model::Graph& graph() const { return view_->artifact().graph; }
  [[nodiscard]] const model::Wiring& wiring() const { return wiring_; }
  [[nodiscard]] const std::vector<WalkStep>& steps() const { return steps_; }
  [[nodiscard]] const std::unordered_map<std::string, Enclosure>& constants() const { return constants_; }
  [[nodiscard]] std::int64_t opset(const std::string& domain) const;
  /// As ArtifactView's.
  [[nodiscard]] double unit(std::string_view tensor) const { return view_->unit(tensor); }
  /// Tensors that no node after `index` reads, graph outputs left out.
  [[nodiscard]] const std::vector<std::string>& last_read_by(std::size_t index) const { return last_reads_[index]; }

 private:
  explicit PreparedArtifact(const ArtifactView& view) : view_(&view), wiring_(view.artifact().graph) {}
  [[nodiscard]] core::Result<WalkStep> read(const model::Node& node, std::size_t index,
                                            const Constants& constants) const;
  void fold(const model::Node& node, WalkStep& step);
  void mark_precision(const Evidence& evidence);
  [[nodiscard]] bool requantized(const ArtifactNode& node) const;
  [[nodiscard]] bool only_quantized(const std::string& tensor, bool before_activation) const;

  const ArtifactView* view_;
  model::Wiring wiring_;
  std::vector<WalkStep> steps_;
  std::vector<std::vector<std::string>> last_reads_;
  std::unordered_map<std::string, Enclosure> constants_;
};

/// One data set on its way through an artifact, under one style: what every tensor may hold. Refers to its arguments.
class ArtifactWalk {
 public:
  ArtifactWalk(const PreparedArtifact& artifact, const Execution& execution, const Style& style)
      : artifact_(artifact), execution_(execution), style_(style) {}

  /// Sees codes that the engine's trace holds beside those expected there, in the graph's order. The walk then goes on
  /// with the actual codes where type and shape are right, so that every node is judged on its own inputs. False ends
  /// the walk.
  using OnTrace = std::function<bool(const std::string& tensor, std::size_t node, const Enclosure& expected,
                                     const core::Tensor& actual)>;
  void run(const OnTrace& on_trace);
  /// Tensors that stay after their last reader (graph outputs always do). Before run().
  void keep(std::set<std::string> tensors) { kept_ = std::move(tensors); }
  /// Codes that may stand for any value between the neighbours of their own and that before it was rounded and cut off
  /// (as_if_unrounded()). Before run().
  void leave_open(std::set<std::string> codes) { open_ = std::move(codes); }

  /// What is known of a tensor, or null where the walk could not follow, or freed it after its last reader.
  [[nodiscard]] const Enclosure* find(const std::string& tensor) const;
  /// Those of `tensors` that the walk knows as codes; they must have been kept.
  [[nodiscard]] CodeTensors codes_of(const std::set<std::string>& tensors) const;
  /// Whether the walk went on with codes of which some element may be several.
  [[nodiscard]] bool uncertain() const { return uncertain_; }
  /// The first node that could not be followed and why; empty where all could.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  void step(const model::Node& node, const WalkStep& step);
  [[nodiscard]] core::Result<std::vector<Enclosure>> evaluate(const model::Node& node, const WalkStep& step) const;
  [[nodiscard]] core::Result<std::vector<Enclosure>> follow(const model::Node& node) const;

  const PreparedArtifact& artifact_;
  const Execution& execution_;
  const Style& style_;
  std::unordered_map<std::string, Enclosure> values_;
  std::set<std::string> kept_, open_;
  std::string note_;
  bool uncertain_ = false;
};

/// For each node in order, the tensors that neither a later node nor `outputs` need.
[[nodiscard]] std::vector<std::vector<std::string>> last_readers(const std::vector<const model::Node*>& nodes,
                                                                 const std::vector<model::ValueInfo>& outputs);

}  // namespace assay::judge
