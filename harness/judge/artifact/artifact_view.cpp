#include "harness/judge/artifact/artifact_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/clipped_codes.hpp"
#include "harness/judge/artifact/decompressed.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/artifact/moved_constants.hpp"
#include "harness/judge/artifact/node_matching.hpp"
#include "harness/judge/artifact/written_out.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Error;
using core::QuantParams;
using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Node;

bool is_quantize(const Node& node) { return node.op_type == "QuantizeLinear"; }
bool is_dequantize(const Node& node) { return node.op_type == "DequantizeLinear"; }

/// How many of its results hold values of its operands, so that codes under common parameters stay codes under these.
std::size_t passes_codes_to(const Node& node, const Constants& constants) {
  if (!only_moves(node, constants) && traits_of(node).movement != Movement::joins) return 0;
  return node.op_type == "Split" ? node.outputs.size() : std::min<std::size_t>(node.outputs.size(), 1);
}

}  // namespace

/// Builds an ArtifactView step by step; each step fills one of its tables.
class ArtifactReader {
 public:
  ArtifactReader(std::shared_ptr<const model::Model> artifact, const model::Model& original)
      : graph_(artifact->graph), original_(original.graph), wiring_(artifact->graph), original_wiring_(original.graph) {
    view_.artifact_ = std::move(artifact);
    view_.constants_ = constants_of(graph_);
  }

  Result<ArtifactView> read() {
    for (const Node& node : graph_.nodes) note_constant_codes(node);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (auto status = read_node(i); !status) return status.error();
      note_source(graph_.nodes[i]);
    }
    link_outputs();
    match_nodes();
    name_originals();
    view_.make_index();
    return std::move(view_);
  }

 private:
  /// The tensor that `name` is a copy, a code or a dequantization of: through Identity, QuantizeLinear and
  /// DequantizeLinear back to where the value is made. Codes that are quantized again with other parameters are made
  /// there: the two may stand for the tensors before and behind a Relu that is gone.
  std::string root(std::string_view name) const { return source(name).tensor; }

  struct Source {
    std::string tensor;  ///< where the value is made
    std::string codes;   ///< its first codes on the way from there, "" where there are none
  };
  Source source(std::string_view name) const {
    const auto found = sources_.find(name);
    return found == sources_.end() ? Source{std::string(name), ""} : found->second;
  }

  /// In the graph's order, in which what a node reads has its source already.
  void note_source(const Node& node) {
    if (dynamic_codes(node, wiring_, graph_)) {
      sources_.emplace(node.outputs.front(), source(node.input(0)));
      return;
    }
    if (node.op_type != "Identity" && !is_quantize(node) && !is_dequantize(node)) return;
    for (const std::string& output : node.outputs) {
      Source behind = source(node.input(0));
      if (requantized_.contains(output)) behind = {output, ""};
      if (is_quantize(node) && behind.codes.empty()) behind.codes = output;
      sources_.emplace(output, std::move(behind));
    }
  }

  /// The codes of quantizers that read one tensor with unlike parameters: each reader of it may stand for another
  /// tensor of the original's. A graph input has its own name on both sides.
  std::set<std::string> unlike_codes() const {
    std::map<std::string_view, std::vector<const Quantizer*>> by_tensor;
    for (const Quantizer& quantizer : view_.quantizers_) by_tensor[quantizer.float_name].push_back(&quantizer);
    std::set<std::string> codes;
    for (const auto& [tensor, all] : by_tensor) {
      const auto differs = [&first = *all.front()](const Quantizer* other) { return other->params != first.params; };
      if (std::ranges::none_of(all, differs) || original_.find_input(root(tensor)) != nullptr) continue;
      for (const Quantizer* quantizer : all) codes.insert(quantizer->codes);
    }
    return codes;
  }

  core::Status read_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    if (node.op_type == "Constant" || node.op_type == "Identity" || dynamic_codes(node, wiring_, graph_))
      return core::success();
    if (is_quantize(node)) return read_quantizer(index);
    if (reads_dynamic_codes(node, wiring_, graph_)) {
      if (!node.outputs.empty()) dynamic_.insert(node.outputs.front());
      return core::success();
    }
    if (is_dequantize(node)) {
      auto params = read_quant_params(node, view_.constants_);
      if (!params) return params.error();
      if (params->type == core::DType::uint8 && node.input(2).empty() &&
          find_constant(view_.constants_, node.input(0)) == nullptr) {
        params->type = type_of_codes(node.input(0));
      }
      if (!node.outputs.empty()) on_codes_[node.outputs.front()] = {std::string(node.input(0)), std::move(*params)};
      return core::success();
    }
    ArtifactNode entry;
    entry.index = index;
    entry.op = model::operator_name(node);
    for (const std::string& input : node.inputs) entry.inputs.push_back(operand(input));
    const std::size_t data = data_input_count(node);
    std::size_t quantized = 0;
    bool all = true;
    for (std::size_t i = 0; i < data; ++i) {
      const Operand& input = entry.inputs[i];
      const bool on_codes = input.quantized() || input.dynamic;
      if (on_codes) ++quantized;
      const bool integer = input.constant_values != nullptr && !input.constant_values->is_real();
      if (!input.name.empty() && !on_codes && !integer) all = false;
    }
    entry.quantized_inputs = all && quantized > 0;
    entry.outputs.resize(node.outputs.size());
    if (entry.quantized_inputs) {
      read_codes_beside(entry, data);
      pass_on(entry, data);
    }
    view_.by_index_[index] = view_.nodes_.size();
    view_.nodes_.push_back(std::move(entry));
    return core::success();
  }

  /// Behind the data a constant of the codes' own type (a Pad's value) is a code like theirs.
  static void read_codes_beside(ArtifactNode& entry, std::size_t data) {
    const Operand& first = entry.inputs.front();
    if (!first.params || first.params->scale.size() != 1) return;
    for (std::size_t i = data; i < entry.inputs.size(); ++i) {
      Operand& operand = entry.inputs[i];
      if (operand.constant_values == nullptr || operand.constant_values->type() != first.params->type) continue;
      operand.codes = operand.name;
      operand.params = first.params;
      operand.constant_codes = std::exchange(operand.constant_values, nullptr);
    }
  }

  /// Constant codes that are moved before they are dequantized (Gather of a table) have the parameters from there.
  void note_constant_codes(const Node& dequantize) {
    if (!is_dequantize(dequantize)) return;
    std::string codes(dequantize.input(0));
    while (const auto producer = wiring_.producer(codes)) {
      const Node& node = graph_.nodes[*producer];
      if (!only_moves(node, view_.constants_) || node.inputs.empty()) return;
      codes = node.input(0);
    }
    if (codes == dequantize.input(0) || find_constant(view_.constants_, codes) == nullptr) return;
    const auto params = read_quant_params(dequantize, view_.constants_);
    if (params && params->scale.size() == 1) on_codes_[codes] = {codes, *params};
  }

  /// Where all data operands have one scale and zero_point in common, so have the results.
  void pass_on(const ArtifactNode& entry, std::size_t data) {
    const std::optional<QuantParams>& common = entry.inputs.front().params;
    const bool alike = std::all_of(entry.inputs.begin(), entry.inputs.begin() + static_cast<std::ptrdiff_t>(data),
                                   [&](const Operand& input) { return input.params == common; });
    if (!alike || !common || common->scale.size() != 1) return;
    const Node& node = graph_.nodes[entry.index];
    const bool on_codes = entry.on_codes();
    for (std::size_t i = 0; i < passes_codes_to(node, view_.constants_); ++i)
      on_codes_[node.outputs[i]] = {on_codes ? node.outputs[i] : "", *common};
  }

  /// The type of codes that no zero_point states: that of the QuantizeLinear that makes them.
  core::DType type_of_codes(std::string_view codes) const {
    const auto found = types_of_codes_.find(codes);
    return found == types_of_codes_.end() ? core::DType::uint8 : found->second;
  }

  core::Status read_quantizer(std::size_t index) {
    const Node& node = graph_.nodes[index];
    auto params = read_quant_params(node, view_.constants_);
    if (!params) return params.error();
    Quantizer quantizer;
    quantizer.index = index;
    quantizer.float_name = node.input(0);
    quantizer.codes = node.outputs.empty() ? "" : node.outputs.front();
    quantizer.params = std::move(*params);
    // Constant codes that are quantized again as they were are the same constant.
    const Operand source = operand(node.input(0));
    const TensorPtr values = source.params == quantizer.params ? constant_value(source) : source.constant_values;
    if (values != nullptr && values->is_real()) {
      auto codes = quantize_tensor(*values, quantizer.params);
      if (!codes) return broken_node(node, codes.error().message);
      quantizer.constant = true;
      view_.constants_[quantizer.codes] = std::make_shared<const Tensor>(std::move(*codes));
    }
    if (const QuantParams* before = dequantized_with(node.input(0))) {
      quantizer.chained = true;
      if (*before != quantizer.params) requantized_.emplace(quantizer.codes, node.input(0));
    }
    types_of_codes_.emplace(quantizer.codes, quantizer.params.type);
    on_codes_[quantizer.codes] = {quantizer.codes, quantizer.params};
    view_.quantizers_.push_back(std::move(quantizer));
    return core::success();
  }

  /// The parameters of the DequantizeLinear that makes `name`, through Identity; null where none does, or of a
  /// constant.
  const QuantParams* dequantized_with(std::string_view name) const {
    std::string current(name);
    while (const auto index = wiring_.producer(current)) {
      const Node& node = graph_.nodes[*index];
      if (is_dequantize(node)) {
        const auto found = on_codes_.find(current);
        const bool constant = find_constant(view_.constants_, node.input(0)) != nullptr;
        return constant || found == on_codes_.end() ? nullptr : &found->second.second;
      }
      if (node.op_type != "Identity") return nullptr;
      current = node.input(0);
    }
    return nullptr;
  }

  Operand operand(std::string_view name) const {
    Operand result;
    result.name = name;
    result.constant_values = find_constant(view_.constants_, name);
    std::string current(name);
    while (const auto index = wiring_.producer(current)) {
      const Node& node = graph_.nodes[*index];
      if (node.op_type != "Identity") break;
      current = node.input(0);
    }
    result.dynamic = dynamic_.contains(current);
    const auto found = on_codes_.find(current);
    if (found == on_codes_.end()) return result;
    result.codes = found->second.first;
    result.params = found->second.second;
    result.constant_codes = find_constant(view_.constants_, result.codes);
    return result;
  }

  const Quantizer* quantizer_at(std::size_t index) const {
    // They are read in the graph's order.
    const auto found = std::ranges::lower_bound(view_.quantizers_, index, {}, &Quantizer::index);
    return found == view_.quantizers_.end() || found->index != index ? nullptr : &*found;
  }

  /// Parameters of the QuantizeLinear that reads `name`, through Identity and at most one Relu or Clip.
  std::optional<QuantParams> reader_params(std::string_view name, bool through_activation) const {
    for (const std::size_t index : wiring_.consumers(name)) {
      const Node& node = graph_.nodes[index];
      if (is_quantize(node)) {
        if (const Quantizer* quantizer = quantizer_at(index)) return quantizer->params;
      }
      const bool passes = node.op_type == "Identity" || (through_activation && traits_of(node).clamp != Clamp::none);
      if (!passes || node.outputs.empty()) continue;
      if (auto params = reader_params(node.outputs.front(), through_activation && node.op_type == "Identity"))
        return params;
    }
    return std::nullopt;
  }

  void link_outputs() {
    for (ArtifactNode& entry : view_.nodes_) {
      const Node& node = graph_.nodes[entry.index];
      bool all = !node.outputs.empty();
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const std::string& output = node.outputs[i];
        if (output.empty()) continue;
        entry.outputs[i] = reader_params(output, traits_of(entry.op).clamp == Clamp::none);
        if (const auto passed = on_codes_.find(output); !entry.outputs[i] && passed != on_codes_.end()) {
          entry.outputs[i] = passed->second.second;
        }
        const bool used = !wiring_.consumers(output).empty() || wiring_.is_output(output);
        if (used && !entry.outputs[i]) all = false;
      }
      entry.quantized_outputs = all;
    }
    for (ArtifactNode& entry : view_.nodes_) {
      if (traits_of(entry.op).clamp == Clamp::none || !entry.quantized_outputs || entry.inputs.empty()) continue;
      const auto producer = wiring_.producer(entry.inputs.front().name);
      const ArtifactNode* before = producer ? view_.find(*producer) : nullptr;
      entry.fused = before != nullptr && before->quantized_inputs;
    }
  }

  void match_nodes() {
    std::vector<NodeToMatch> ours;
    for (const ArtifactNode& entry : view_.nodes_) {
      const Node& node = graph_.nodes[entry.index];
      NodeToMatch item{node.name, entry.op, node.outputs, {}, {}};
      item.is_constant = !entry.inputs.empty();
      for (const Operand& input : entry.inputs) {
        const TensorPtr& constant = input.constant_codes != nullptr ? input.constant_codes : input.constant_values;
        item.inputs.push_back(root(input.name));
        item.sizes.push_back(constant == nullptr ? 0 : constant->size());
        item.is_constant = item.is_constant && (constant != nullptr || input.name.empty());
      }
      // What a QuantizeLinear passes on may carry the name instead (y → Q → DQ → "y" at the graph's output).
      for (const std::string& output : node.outputs) {
        for (const std::string& carried : carried_names(output)) item.outputs.push_back(carried);
      }
      ours.push_back(std::move(item));
    }
    auto matches = judge::match_nodes(ours, original_);
    for (std::size_t i = 0; i < matches.size(); ++i) {
      if (matches[i] && sums_products(ours[i].op)) unmatch_unfolded(i, matches);
    }
    for (std::size_t i = 0; i < matches.size(); ++i) {
      view_.nodes_[i].original = matches[i];
      if (matches[i]) view_.by_original_[*matches[i]] = i;
    }
  }

  /// A BatchNormalization that the original has folded already and the artifact has not: the original's node is both
  /// together, and its tensor what the BatchNormalization gives, whatever the names say.
  void unmatch_unfolded(std::size_t sum, std::vector<std::optional<std::size_t>>& matches) {
    const std::string& output = graph_.nodes[view_.nodes_[sum].index].outputs.front();
    const std::vector<std::size_t>& readers = wiring_.consumers(output);
    if (readers.size() != 1 || graph_.nodes[readers.front()].op_type != "BatchNormalization") return;
    const auto reader = view_.by_index_.find(readers.front());
    if (reader == view_.by_index_.end() || matches[reader->second]) return;
    for (const std::size_t index : original_wiring_.consumers(original_.nodes[*matches[sum]].outputs.front())) {
      if (original_.nodes[index].op_type == "BatchNormalization") return;
    }
    matches[sum].reset();
    unfolded_.insert(output);
  }

  /// The nodes whose first input is `name`, or what such nodes make of it where `passes` says that they hand it on;
  /// those behind a node come before its neighbours. No further than a converter's own nodes ever go.
  template <typename Passes>
  std::vector<std::size_t> readers_through(std::string_view name, const Passes& passes) const {
    constexpr std::size_t kMost = 1000;
    std::vector<std::size_t> found, open;
    const auto add_readers = [&](std::string_view tensor) {
      const auto& readers = wiring_.consumers(tensor);
      std::copy_if(readers.rbegin(), readers.rend(), std::back_inserter(open), [&](std::size_t index) {
        return !graph_.nodes[index].outputs.empty() && graph_.nodes[index].input(0) == tensor;
      });
    };
    add_readers(name);
    while (!open.empty() && found.size() < kMost) {
      found.push_back(open.back());
      open.pop_back();
      const Node& node = graph_.nodes[found.back()];
      if (passes(node)) add_readers(node.outputs.front());
    }
    return found;
  }

  /// Names that hold the same values further down: through Identity, Q and DQ, and what the converter may have put in
  /// to give them another shape.
  std::vector<std::string> carried_names(std::string_view name) const {
    const auto carries = [](const Node& node) {
      return node.op_type == "Identity" || traits_of(node).movement == Movement::reshapes || is_quantize(node) ||
             is_dequantize(node) || node.op_type == "DynamicQuantizeLinear";
    };
    std::vector<std::string> names;
    for (const std::size_t index : readers_through(name, carries)) {
      if (carries(graph_.nodes[index])) names.push_back(graph_.nodes[index].outputs.front());
    }
    return names;
  }

  /// The original's name of what the converter's own Reshape behind `name` gives: it may be another than that of the
  /// node which makes `name` here, where a sum became part of that. "" where there is no such Reshape.
  std::string behind_own_reshape(std::string_view name) const {
    const auto passes = [](const Node& node) {
      return node.op_type == "Identity" || is_quantize(node) || is_dequantize(node);
    };
    for (const std::size_t index : readers_through(name, passes)) {
      const Node& node = graph_.nodes[index];
      if (passes(node) || !is_own_reshape(index)) continue;
      std::vector<std::string> carried = carried_names(node.outputs.front());
      carried.insert(carried.begin(), node.outputs.front());
      const auto known = std::ranges::find_if(
          carried, [&](const std::string& each) { return original_wiring_.producer(each).has_value(); });
      if (known != carried.end()) return before_activations(*known);
    }
    return "";
  }

  /// What goes into the Relu or Clip that makes `tensor` in the original, or a copy of it, and is gone from the
  /// artifact: codes behind cut like it, and codes before need not.
  std::string before_activations(std::string tensor) const {
    while (const auto producer = original_wiring_.producer(tensor)) {
      const Node& node = original_.nodes[*producer];
      const bool vanishes = traits_of(node).clamp != Clamp::none || node.op_type == "Identity";
      if (!vanishes || view_.find_original(*producer) != nullptr) break;
      tensor = node.input(0);
    }
    return tensor;
  }

  /// A Reshape and the like that the original does not have.
  bool is_own_reshape(std::size_t index) const {
    const ArtifactNode* made = view_.find(index);
    return made != nullptr && !made->original && traits_of(made->op).movement == Movement::reshapes;
  }

  void name_originals() {
    OriginalNames names(original_);
    const std::set<std::string> unlike = unlike_codes();
    std::map<std::string, std::string> branches;  // what the first reader of such codes reads
    for (const model::ValueInfo& input : graph_.inputs) names.vote_input(input.name);
    for (const model::ValueInfo& output : graph_.outputs) names.vote_output(root(output.name), output.name);
    for (const ArtifactNode& entry : view_.nodes_) {
      if (!entry.original) continue;
      const Node& theirs = original_.nodes[*entry.original];
      std::vector<std::string> roots;
      for (const Operand& input : entry.inputs) roots.push_back(root(input.name));
      names.vote_consumer(entry.op, roots, theirs);
      for (std::size_t i = 0; i < entry.inputs.size() && !commutes(entry.op); ++i) {
        const std::string codes = source(entry.inputs[i].name).codes;
        if (unlike.contains(codes)) branches.try_emplace(codes, theirs.input(i));
      }
      const Node& node = graph_.nodes[entry.index];
      for (std::size_t i = 0; i < node.outputs.size() && i < theirs.outputs.size(); ++i) {
        const std::string reshaped = behind_own_reshape(node.outputs[i]);
        names.vote_producer(node.outputs[i], reshaped.empty() ? theirs.outputs[i] : reshaped);
      }
    }
    // From the end: what is made of codes that are quantized again is known before these.
    for (auto quantizer = view_.quantizers_.rbegin(); quantizer != view_.quantizers_.rend(); ++quantizer) {
      const auto read = requantized_.find(quantizer->codes);
      if (read != requantized_.end())
        names.vote_requantized(root(read->second), before_activations(names.original(quantizer->codes)));
    }
    const auto name_of = [&](std::string_view tensor) {
      const auto [made, codes] = source(tensor);
      if (const auto found = branches.find(codes); found != branches.end()) return found->second;
      std::string name = unfolded_.contains(made) ? std::string() : names.original(made);
      const auto from = made_from(made);
      if (!from || !(name.empty() || requantized_.contains(made))) return name;
      std::string before = view_.original_tensor(*from);  // known already: the graph is in order
      return name.empty() || names.same_value(name, before) ? before : name;
    };
    for (const Node& node : graph_.nodes) {
      for (const auto* list : {&node.inputs, &node.outputs}) {
        for (const std::string& tensor : *list) {
          if (!tensor.empty()) view_.originals_[tensor] = name_of(tensor);
        }
      }
    }
    for (ArtifactNode& entry : view_.nodes_) {
      for (Operand& input : entry.inputs) input.original = view_.original_tensor(input.name);
    }
    for (Quantizer& quantizer : view_.quantizers_) quantizer.original = view_.original_tensor(quantizer.codes);
  }

  /// What a second QuantizeLinear, or a Reshape and the like of the converter's own, reads: the same values, in the
  /// same order.
  std::optional<std::string> made_from(std::string_view name) const {
    if (const auto found = requantized_.find(name); found != requantized_.end()) return found->second;
    const auto producer = wiring_.producer(name);
    if (!producer || !is_own_reshape(*producer)) return std::nullopt;
    return std::string(graph_.nodes[*producer].input(0));
  }

  ArtifactView view_;
  std::map<std::string, Source, std::less<>> sources_;
  /// Codes that are made of codes with other parameters, and the tensor that their QuantizeLinear reads.
  std::map<std::string, std::string, std::less<>> requantized_;
  std::map<std::string, core::DType, std::less<>> types_of_codes_;
  const Graph& graph_;
  const Graph& original_;
  model::Wiring wiring_, original_wiring_;
  std::set<std::string, std::less<>> dynamic_;  ///< values of codes whose parameters each inference finds
  std::set<std::string> unfolded_;              ///< outputs of sums whose BatchNormalization the original doesn't have
  /// What holds codes, or values on them: the codes' own tensor, "" where they moved since they were made, and their
  /// parameters.
  std::map<std::string, std::pair<std::string, QuantParams>, std::less<>> on_codes_;
};

Result<ArtifactView> ArtifactView::build(std::shared_ptr<const model::Model> artifact, const model::Model& original) {
  Result<Widened> widened = widened_halves(std::move(artifact));
  if (!widened) return widened.error();
  const auto unclipped = with_clips_before_codes(std::move(widened->model));
  auto plain = with_moved_constants(with_decompressed_constants(written_out(unclipped, original.graph)));
  auto view = ArtifactReader(std::move(plain), original).read();
  if (!view || widened->units.empty()) return view;
  view->units_ = std::move(widened->units);
  for (ArtifactNode& node : view->nodes_) {
    for (Operand& input : node.inputs) input.unit = input.params ? input.params->unit : view->unit(input.name);
  }
  return view;
}

const ArtifactNode* ArtifactView::find_original(std::size_t index) const {
  const auto found = by_original_.find(index);
  return found == by_original_.end() ? nullptr : &nodes_[found->second];
}

double ArtifactView::unit(std::string_view tensor) const {
  const auto found = units_.find(tensor);
  return found == units_.end() ? 0 : found->second;
}

double ArtifactView::largest_unit() const {
  double largest = 0;
  for (const auto& [tensor, unit] : units_) largest = std::max(largest, unit);
  return largest;
}

double ArtifactView::unit(const ArtifactNode& node) const {
  double largest = 0;
  for (const std::string& output : artifact_->graph.nodes[node.index].outputs)
    largest = std::max(largest, unit(output));
  return largest;
}

const ArtifactNode* ArtifactView::find(std::size_t index) const {
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? nullptr : &nodes_[found->second];
}

std::set<std::string> ArtifactView::computed_codes() const {
  std::set<std::string> names;
  for (const Quantizer& quantizer : quantizers_) {
    if (!quantizer.constant) {
      names.insert(quantizer.codes);
    }
  }
  return names;
}

void ArtifactView::make_index() {
  for (std::size_t i = 0; i < quantizers_.size(); ++i) {
    index_.original.emplace(quantizers_[i].original, i);
    index_.float_name.emplace(quantizers_[i].float_name, i);
    index_.codes.emplace(quantizers_[i].codes, i);
  }
}

std::vector<const Quantizer*> ArtifactView::quantizers_at(
    const std::multimap<std::string, std::size_t, std::less<>>& index, std::string_view name) const {
  const auto [begin, end] = index.equal_range(name);
  std::vector<const Quantizer*> found;
  std::transform(begin, end, std::back_inserter(found), [&](const auto& entry) { return &quantizers_[entry.second]; });
  return found;
}

bool ArtifactNode::in_bytes() const {
  const auto wide = [](const std::optional<QuantParams>& params) {
    return params && (core::element_size_bits(params->type) == 16 || core::is_real(params->type));
  };
  return std::ranges::none_of(inputs, wide, &Operand::params) && std::ranges::none_of(outputs, wide);
}

std::vector<const Quantizer*> ArtifactView::quantizers_of(std::string_view original_tensor) const {
  return quantizers_at(index_.original, original_tensor);
}

std::vector<const Quantizer*> ArtifactView::quantizers_from(std::string_view float_name) const {
  return quantizers_at(index_.float_name, float_name);
}

const Quantizer* ArtifactView::quantizer_of_codes(std::string_view codes) const {
  const auto found = index_.codes.find(codes);
  return found == index_.codes.end() ? nullptr : &quantizers_[found->second];
}

std::string ArtifactView::original_tensor(std::string_view artifact_tensor) const {
  const auto found = originals_.find(artifact_tensor);
  return found == originals_.end() ? std::string() : found->second;
}

TensorPtr ArtifactView::constant(std::string_view artifact_tensor) const {
  return find_constant(constants_, artifact_tensor);
}

}  // namespace assay::judge
