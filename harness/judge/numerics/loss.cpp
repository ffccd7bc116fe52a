#include "harness/judge/numerics/loss.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/numerics/headline.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// NaN where it has no meaning (other shapes, integers).
Deviation deviation_of(const Tensor& expected, const Tensor& actual) {
  const bool comparable = expected.shape() == actual.shape() && expected.is_real() && actual.is_real();
  Deviation none;
  none.noise = std::nan("");
  return comparable ? measure_deviation(expected, actual) : none;
}

/// What the artifact's operators read on one data set, by the original's tensors.
class Reads {
 public:
  Reads(const LayerContext& context, const core::TensorMap& expected) : view_(*context.artifact), expected_(expected) {}

  /// False where the reference can't run the artifact.
  bool run(const LayerContext& context, const core::TensorMap& inputs) {
    std::set<std::string> wanted;
    for (const ArtifactNode& node : view_.nodes()) {
      for (const std::string& name : names_read(node)) wanted.insert(name);
    }
    reference::RunOptions options;
    options.observe = [&](const std::string& name, const Tensor& value) {
      if (const auto found = expected_.find(name); found != expected_.end() && value.is_real()) {
        named_.emplace(name, deviation_of(found->second, value));
      }
      if (wanted.contains(name)) observed_.emplace(name, std::make_shared<const Tensor>(value));
    };
    if (!reference::execute(*context.evidence.artifact, inputs, options)) return false;
    for (const ArtifactNode& node : view_.nodes()) read_by(node, context.evidence.model->graph);
    return true;
  }

  /// What the artifact's form of node `index` reads for `tensor`; else what others read; null where nobody does.
  [[nodiscard]] TensorPtr operand(std::size_t index, const std::string& tensor) const {
    const auto own = by_reader_.find({index, tensor});
    if (own != by_reader_.end()) return own->second;
    const auto any = values_.find(tensor);
    return any == values_.end() ? nullptr : any->second;
  }
  /// The worst of what is read for it.
  [[nodiscard]] const Deviation* worst(const std::string& tensor) const {
    const auto found = worst_.find(tensor);
    return found == worst_.end() ? nullptr : &found->second;
  }
  /// Of the artifact's tensor that has this name, before a quantizer; null where there is none.
  [[nodiscard]] const Deviation* named(const std::string& tensor) const {
    const auto found = named_.find(tensor);
    return found == named_.end() ? nullptr : &found->second;
  }

 private:
  [[nodiscard]] std::vector<std::string> names_read(const ArtifactNode& node) const {
    std::vector<std::string> names = model::captured_names(view_.artifact().graph.nodes[node.index]);
    for (const Operand& operand : node.inputs) {
      const bool constant = operand.constant_codes != nullptr || operand.constant_values != nullptr;
      if (!constant && !operand.name.empty()) names.push_back(operand.name);
    }
    return names;
  }

  [[nodiscard]] TensorPtr value_of(const std::string& name, const std::optional<core::QuantParams>& params) const {
    const auto found = observed_.find(name);
    if (found == observed_.end()) return nullptr;
    if (found->second->is_real() || !params) return found->second;
    std::optional<Tensor> real = dequantize_tensor(*found->second, *params);
    return real ? std::make_shared<const Tensor>(*std::move(real)) : nullptr;
  }

  void read_by(const ArtifactNode& node, const model::Graph& original) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Operand& operand = node.inputs[i];
      if (operand.constant_codes != nullptr || operand.constant_values != nullptr) continue;
      if (const TensorPtr value = value_of(operand.name, operand.params)) {
        keep(node, candidates(node, operand.original, i, original), value);
      }
    }
    for (const std::string& name : model::captured_names(view_.artifact().graph.nodes[node.index])) {
      if (const TensorPtr value = value_of(name, std::nullopt)) keep(node, {view_.original_tensor(name)}, value);
    }
  }

  /// The tensors of the original that an operand may stand for: names tell one, the place at the operator that reads it
  /// another where a converter gave one tensor the name of the next (a Relu that it removed).
  static std::vector<std::string> candidates(const ArtifactNode& node, const std::string& named, std::size_t index,
                                             const model::Graph& original) {
    std::vector<std::string> tensors{named};
    if (node.original) {
      const Node& theirs = original.nodes[*node.original];
      if (std::ranges::find(theirs.inputs, named) == theirs.inputs.end() && index < theirs.inputs.size()) {
        tensors.push_back(theirs.inputs[index]);
      }
    }
    return tensors;
  }

  /// Of several candidates it stands for the one that it is nearest to.
  void keep(const ArtifactNode& node, const std::vector<std::string>& candidates, const TensorPtr& value) {
    const std::string* best = nullptr;
    Deviation least;
    for (const std::string& tensor : candidates) {
      const auto expected = expected_.find(tensor);
      if (expected == expected_.end()) continue;
      const Deviation deviation = deviation_of(expected->second, *value);
      if (std::isnan(deviation.noise) || !(deviation.signal > 0)) continue;
      if (best == nullptr || deviation.sqnr_db() > least.sqnr_db()) {
        best = &tensor;
        least = deviation;
      }
    }
    if (best == nullptr) return;
    if (node.original) by_reader_.insert_or_assign({*node.original, *best}, value);
    const auto [kept, added] = worst_.emplace(*best, least);
    if (!added && !(least.sqnr_db() < kept->second.sqnr_db())) return;
    kept->second = least;
    values_.insert_or_assign(*best, value);
  }

  const ArtifactView& view_;
  const core::TensorMap& expected_;
  std::map<std::string, TensorPtr> observed_;  ///< by the artifact's names
  std::map<std::pair<std::size_t, std::string>, TensorPtr> by_reader_;
  std::map<std::string, TensorPtr> values_;
  std::map<std::string, Deviation> worst_, named_;
};

/// SQNR of one tensor, as it is and as its operation had it before anything of its own was lost.
struct LossSums {
  Deviation own, carried;
  std::size_t sets = 0, carried_sets = 0;
};

class Losses {
 public:
  Losses(const LayerContext& context, std::span<const Metric> known)
      : context_(context), graph_(context.evidence.model->graph) {
    for (const Metric& metric : known) {
      if (metric.name == "predicted_sqnr_db") predicted_[{metric.data_set, metric.tensor}] = metric.value;
    }
  }

  std::vector<Metric> run() {
    const auto& executions = context_.evidence.executions;
    const bool all = are_alike(context_.evidence) && !context_.large;
    const std::size_t count = all ? executions.size() : std::min<std::size_t>(executions.size(), 1);
    for (std::size_t i = 0; i < count && i < context_.reference.size(); ++i) {
      if (context_.reference[i] == nullptr || !see(executions[i], *context_.reference[i])) return {};
    }
    if (count > 0) conclude(count == 1 ? executions.front().data_set : "");
    return std::move(metrics_);
  }

 private:
  bool see(const Execution& execution, const core::TensorMap& expected) {
    Reads reads(context_, expected);
    if (!reads.run(context_, execution.inputs)) return false;
    if (&execution == &context_.evidence.executions.front()) hold_against_prediction(reads, execution.data_set);
    std::map<std::string, TensorPtr> carried;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::vector<TensorPtr> outputs = computed(i, reads, carried, expected);
      for (std::size_t o = 0; o < graph_.nodes[i].outputs.size(); ++o) {
        const std::string& output = graph_.nodes[i].outputs[o];
        const TensorPtr value = o < outputs.size() ? outputs[o] : nullptr;
        if (output.empty() || !expected.contains(output)) continue;
        if (value != nullptr) carried[output] = value;
        add(output, expected.at(output), value, reads, execution);
      }
    }
    return true;
  }

  /// The results of node `index` in float64 on what the artifact reads; empty where its inputs aren't all known.
  [[nodiscard]] std::vector<TensorPtr> computed(std::size_t index, const Reads& reads,
                                                const std::map<std::string, TensorPtr>& carried,
                                                const core::TensorMap& expected) const {
    const Node& node = graph_.nodes[index];
    if (!model::captured_names(node).empty() || traits_of(node).random) return {};
    std::vector<TensorPtr> values;
    std::vector<const Tensor*> inputs;
    for (const std::string& name : node.inputs) {
      values.push_back(name.empty() ? nullptr : input(index, name, reads, carried, expected));
      if (!name.empty() && values.back() == nullptr) return {};
      inputs.push_back(values.back().get());
    }
    const auto opset = context_.evidence.model->opsets.find(node.domain);
    auto made =
        reference::execute_node(node, opset == context_.evidence.model->opsets.end() ? 1 : opset->second, inputs);
    std::vector<TensorPtr> outputs;
    if (!made) return outputs;
    for (Tensor& output : *made) outputs.push_back(std::make_shared<const Tensor>(std::move(output)));
    return outputs;
  }

  [[nodiscard]] TensorPtr input(std::size_t index, const std::string& name, const Reads& reads,
                                const std::map<std::string, TensorPtr>& carried,
                                const core::TensorMap& expected) const {
    if (TensorPtr read = reads.operand(index, name)) return read;
    if (const auto found = carried.find(name); found != carried.end()) return found->second;
    const bool given = graph_.initializers.contains(name) || graph_.find_input(name) != nullptr;
    const auto exact = expected.find(name);
    return given && exact != expected.end() ? std::make_shared<const Tensor>(exact->second) : nullptr;
  }

  void add(const std::string& tensor, const Tensor& expected, const TensorPtr& value, const Reads& reads,
           const Execution& execution) {
    std::optional<Deviation> own;
    if (const auto output = execution.outputs.find(tensor); output != execution.outputs.end()) {
      own = deviation_of(expected, output->second);
    } else if (const Deviation* read = reads.worst(tensor)) {
      own = *read;
    }
    if (!own || !std::isfinite(own->noise) || !std::isfinite(own->signal)) return;
    LossSums& sums = sums_[tensor];
    sums.own += *own;
    ++sums.sets;
    if (value == nullptr) return;
    const Deviation carried = deviation_of(expected, *value);
    if (!std::isfinite(carried.noise)) return;
    sums.carried += carried;
    ++sums.carried_sets;
  }

  void conclude(const std::string& data_set) {
    for (const Node& node : graph_.nodes) {
      for (const std::string& output : node.outputs) {
        const auto found = sums_.find(output);
        if (found == sums_.end()) continue;
        const double own = found->second.own.sqnr_db();
        if (!std::isfinite(own)) continue;
        if (graph_.find_output(output) == nullptr) metrics_.push_back({output, data_set, "sqnr_db", own});
        const double carried = found->second.carried.sqnr_db();
        if (found->second.carried_sets == found->second.sets && std::isfinite(carried)) {
          metrics_.push_back({output, data_set, "sqnr_loss_db", carried - own});
        }
      }
    }
  }

  /// The prediction is of a tensor before its own rounding, so that the artifact's own name for it is what to look at;
  /// but where a Relu or Clip has become the clipping of codes, what has its name is not clipped yet.
  void hold_against_prediction(const Reads& reads, const std::string& data_set) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const bool activation = traits_of(node).clamp != Clamp::none;
      if (activation && context_.alignment->is_gone(i)) continue;
      for (const std::string& output : node.outputs) {
        const auto guess = predicted_.find({data_set, output});
        const Deviation* named = reads.named(output);
        if (graph_.find_output(output) != nullptr || guess == predicted_.end() || named == nullptr) continue;
        const double db = named->sqnr_db();
        if (std::isfinite(db)) metrics_.push_back({output, data_set, "inner_deviation_db", db - guess->second});
      }
    }
  }

  const LayerContext& context_;
  const model::Graph& graph_;
  std::map<std::pair<std::string, std::string>, double> predicted_;  ///< by data set and tensor
  std::map<std::string, LossSums> sums_;
  std::vector<Metric> metrics_;
};

}  // namespace

std::vector<Metric> measure_losses(const LayerContext& context, std::span<const Metric> known) {
  const bool readable = context.artifact != nullptr && context.evidence.artifact != nullptr;
  return readable ? Losses(context, known).run() : std::vector<Metric>();
}

}  // namespace assay::judge
